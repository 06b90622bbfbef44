// SPDX-License-Identifier: Apache-2.0
#include "cli/place_inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"

namespace rudder::cli {
namespace {

constexpr std::int64_t kMaxNodes = std::int64_t{1} << 24;

}  // namespace

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kShown ? text + ", ..." : text;
}

void TopologyInput::add_options(OptionTable& options) {
  options.choice("topology-format", format_, place::topology_format_names(),
                 "Of the topology file; auto tells by content");
  options.text("topology-name", "NAME", topology_name_,
               "slurm-yaml: which topology of the file; empty: the cluster's default");
  options.text("label-keys", "KEYS", label_keys_,
               "kubernetes: node labels that name domains, outermost first; empty: topograph's, then zones");
  options.choice("unknown", unknown_, {"error", "singleton", "skip"},
                 "Hosts without a known domain: an error, minipods of their own, or left out");
  options.path(
      "state", state_,
      "States of hosts: output of sinfo --json or scontrol show node [--json], or lines HOSTS [STATE]; "
      "hosts that it leaves out are down");
  options.choice("strangers", strangers_, {"error", "count"},
                 "Hosts with a state that the topology lacks: an error, or said and ignored");
  options.text("minipod-level", "N", level_,
               "Distance of minipods from the root of the tree; auto: 1, or 0 for roots without children");
}

Result<place::TopologyFileOptions> TopologyInput::file_options() const {
  place::TopologyFileOptions options;
  RUDDER_ASSIGN(options.format, place::topology_format_from_name(format_));
  options.unknown = unknown_ == "skip"        ? place::UnknownDomain::kSkip
                    : unknown_ == "singleton" ? place::UnknownDomain::kSingleton
                                              : place::UnknownDomain::kError;
  options.topology_name = topology_name_;
  if (!label_keys_.empty()) {
    options.label_keys = split_list(label_keys_);
  }
  return options;
}

Status TopologyInput::apply_state(LoadedTopology& loaded) const {
  RUDDER_ASSIGN(const std::vector<place::NamedState> states, place::read_states(state_));
  const Result<place::StateReport> report =
      place::apply_states(loaded.file.topology, states,
                          strangers_ == "count" ? place::Strangers::kCount : place::Strangers::kError);
  if (!report) {
    return report.error().in(state_.string());
  }
  loaded.remarks.push_back(
      fmt::format("{} hosts free, {} busy, {} down", report->free, report->busy, report->down));
  if (!report->not_in_state.empty()) {
    loaded.remarks.push_back(fmt::format("{} hosts have no state and count as down: {}",
                                         report->not_in_state.size(), some(report->not_in_state)));
  }
  if (!report->strangers.empty()) {
    loaded.remarks.push_back(fmt::format("{} hosts with a state are not in the topology: {}",
                                         report->strangers.size(), some(report->strangers)));
  }
  return {};
}

Result<LoadedTopology> TopologyInput::load(const std::filesystem::path& file) const {
  RUDDER_ASSIGN(const place::TopologyFileOptions options, file_options());
  LoadedTopology loaded;
  RUDDER_ASSIGN(loaded.file, place::read_topology(file, options));
  loaded.remarks = loaded.file.remarks;
  if (!loaded.file.unknown_hosts.empty()) {
    loaded.remarks.push_back(fmt::format(
        "{} hosts of unknown domain are {}: {}", loaded.file.unknown_hosts.size(),
        unknown_ == "skip" ? "left out" : "minipods of their own", some(loaded.file.unknown_hosts)));
  }
  if (!state_.empty()) {
    RUDDER_TRY(apply_state(loaded));
  }
  loaded.level = place::default_minipod_level(loaded.topology());
  if (level_ != "auto") {
    const auto level = parse_int(level_);
    if (!level || *level < 0 || *level > kMaxNodes) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--minipod-level '{}': auto or a number from 0", level_)};
    }
    const std::vector<place::Switch>& switches = loaded.topology().switches;
    const auto deepest =
        std::max_element(switches.begin(), switches.end(),
                         [](const place::Switch& a, const place::Switch& b) { return a.level < b.level; })
            ->level;
    if (*level > deepest) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--minipod-level {}: the switches of {} are at levels 0 to {}", *level,
                               file.string(), deepest)};
    }
    loaded.level = static_cast<std::int32_t>(*level);
  }
  return loaded;
}

void ShapeInput::add_options(OptionTable& options) {
  constexpr std::int32_t kMost = std::int32_t{1} << 24;
  options.integer<std::int32_t>("gpus-per-node", shape.gpus_per_node, 1, 1024, "GPUs of a node");
  options.integer<std::int32_t>("tp", shape.tp, 1, 1024, "Tensor-parallel ranks; they stay inside a node");
  options.integer<std::int32_t>("pp", shape.pp, 1, kMost, "Pipeline stages");
  options.integer<std::int32_t>("dp", shape.dp, 1, kMost, "Data-parallel replicas");
  options.integer<std::int32_t>("cp", shape.cp, 1, kMost,
                                "Context-parallel ranks; they multiply the replicas");
  options.choice(
      "order", order, {"column-major", "row-major"},
      "How ranks are numbered: column-major is Megatron's default tp-cp-ep-dp-pp, row-major tp-pp-dp");
}

Status require_one_cluster(const std::string& capacities, const std::filesystem::path& topology) {
  if (!capacities.empty() && !topology.empty()) {
    return Error{Errc::kInvalidArgument, "--capacities and --topology exclude each other"};
  }
  if (capacities.empty() && topology.empty()) {
    return Error{Errc::kInvalidArgument, "one of --capacities N,N and --topology FILE is required"};
  }
  return {};
}

std::vector<std::int32_t> free_hosts(const LoadedTopology& loaded) {
  std::vector<std::int32_t> free;
  for (const place::Minipod& pod : place::minipods(loaded.topology(), loaded.level)) {
    free.push_back(
        static_cast<std::int32_t>(std::count_if(pod.hosts.begin(), pod.hosts.end(), [&](place::HostId host) {
          return loaded.topology().hosts[static_cast<std::size_t>(host)].state == place::HostState::kFree;
        })));
  }
  return free;
}

Result<place::Grid> parse_grid(const std::string& text) {
  const std::size_t cross = text.find('x');
  const auto rows = parse_int(text.substr(0, cross));
  const auto columns = cross == std::string::npos ? std::nullopt : parse_int(text.substr(cross + 1));
  if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > kMaxNodes || *columns > kMaxNodes) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("--shape '{}': rows x columns, for example 46x8", text.substr(0, 80))};
  }
  return place::Grid{static_cast<std::int32_t>(*rows), static_cast<std::int32_t>(*columns)};
}

Result<std::vector<std::int32_t>> parse_capacities(const std::string& text) {
  std::vector<std::int32_t> capacities;
  for (const std::string& part : split_list(text)) {
    const auto number = parse_int(part);
    if (!number || *number < 0 || *number > kMaxNodes) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--capacities: '{}' is no number of nodes from 0 to {}", part.substr(0, 80),
                               kMaxNodes)};
    }
    capacities.push_back(static_cast<std::int32_t>(*number));
  }
  return capacities;
}

Result<std::vector<std::string>> parse_hosts(const std::string& text) {
  if (text.empty()) {
    return std::vector<std::string>();
  }
  if (text.starts_with('@')) {
    const std::filesystem::path path = text.substr(1);
    RUDDER_ASSIGN(const std::string lines, read_text(path));
    return place::parse_host_file(path.string(), lines);
  }
  Result<std::vector<std::string>> names = place::expand_hostlist(text);
  return names ? names : Error{Errc::kInvalidArgument, names.error().message};
}

}  // namespace rudder::cli
