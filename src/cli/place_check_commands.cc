// SPDX-License-Identifier: Apache-2.0
// rudder place topology, rudder place check.
#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/place/draw.h"
#include "rudder/place/hand_over.h"
#include "rudder/place/plan_check.h"

#include "cli/command.h"
#include "cli/place_inputs.h"

namespace rudder::cli {
namespace {

Json minipods_json(const LoadedTopology& loaded) {
  Json list = Json::array();
  for (const place::Minipod& pod : place::minipods(loaded.topology(), loaded.level)) {
    std::int64_t free = 0;
    for (const place::HostId host : pod.hosts) {
      free +=
          loaded.topology().hosts[static_cast<std::size_t>(host)].state == place::HostState::kFree ? 1 : 0;
    }
    list.push_back({{"name", pod.name}, {"hosts", pod.hosts.size()}, {"free", free}});
  }
  return list;
}

class PlaceTopology final : public Command {
 public:
  PlaceTopology() {
    input_.add_options(options());
    options().path("svg", svg_, "Draw the tree into this file");
    options().path("hyper-nodes", hyper_nodes_,
                   "Write Volcano's HyperNodes into this file, minipods as tier 1");
    options().integer<std::uint64_t>("lines", lines_, 1, 10'000'000, "Most lines of the text tree");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override { arguments.one("FILE", file_, "Topology file"); }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const LoadedTopology loaded, input_.load(file_));
    if (!svg_.empty()) {
      RUDDER_TRY(write_text(svg_, place::topology_svg(loaded.topology())));
    }
    if (!hyper_nodes_.empty()) {
      RUDDER_TRY(write_text(hyper_nodes_, place::volcano_hyper_nodes(loaded.topology(), loaded.level)));
    }
    if (json()) {
      print_json({{"format", place::name_of(loaded.file.format)},
                  {"switches", loaded.topology().switches.size()},
                  {"hosts", loaded.topology().hosts.size()},
                  {"unknown_hosts", loaded.file.unknown_hosts.size()},
                  {"minipod_level", loaded.level},
                  {"minipods", minipods_json(loaded)}});
      return 0;
    }
    for (const std::string& remark : loaded.remarks) {
      say(remark);
    }
    say(fmt::format("{}: {} hosts, {} minipods at level {}", place::name_of(loaded.file.format),
                    loaded.topology().hosts.size(), place::minipods(loaded.topology(), loaded.level).size(),
                    loaded.level));
    say(place::topology_text(loaded.topology(), lines_));
    return 0;
  }

 private:
  TopologyInput input_;
  std::filesystem::path file_;
  std::filesystem::path svg_;
  std::filesystem::path hyper_nodes_;
  std::uint64_t lines_ = 200;
};

Json lines_json(const std::vector<place::LineSpread>& lines) {
  Json list = Json::array();
  for (const place::LineSpread& line : lines) {
    Json pods = Json::object();
    for (const auto& [name, nodes] : line.minipods) {
      pods[name] = nodes;
    }
    list.push_back({{"index", line.index}, {"minipods", std::move(pods)}});
  }
  return list;
}

class PlaceCheck final : public Command {
 public:
  PlaceCheck() {
    options().path("topology", topology_, "Topology file; required");
    input_.add_options(options());
    options().choice(
        "format", format_, {"json", "hosts", "rankfile"},
        "Of the placement: the canonical JSON, a host a rank (or node) in rank order, or an Open MPI "
        "rankfile; the last two need the shape");
    shape_.add_options(options());
    options().real("alpha", alpha_, 0, 1,
                   "Weight of the data-parallel side for placements that name none (json names its own)");
    options().integer<std::int32_t>(
        "segment", segment_, 0, 1 << 24,
        "Nodes that the cluster manager is asked to keep together (--segment, slice or "
        "partition size); 0: none");
    options().path("heat-map", heat_map_, "Write the placement as a coloured page");
    options().real("seconds", limits_.seconds, 0, 3600, "Time of the search for the best placement");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PLACEMENT", file_, "Placement to check");
  }
  Result<int> run(const Program&) override {
    if (topology_.empty()) {
      return Error{Errc::kInvalidArgument, "--topology FILE is required"};
    }
    RUDDER_ASSIGN(const LoadedTopology loaded, input_.load(topology_));
    RUDDER_ASSIGN(const place::Plan plan, read_placement());
    const Result<place::PlanCheck> checked = place::check_against(
        plan, loaded.topology(), {.level = loaded.level, .segment = segment_, .limits = limits_});
    if (!checked) {
      return checked.error().in(file_.string());
    }
    const place::PlanCheck& check = *checked;
    if (!heat_map_.empty()) {
      RUDDER_ASSIGN(const std::string page, place::heat_map_html(check.plan));
      RUDDER_TRY(write_text(heat_map_, page));
    }
    if (json()) {
      print_json(result_json(check));
      return 0;
    }
    for (const std::string& remark : loaded.remarks) {
      say(remark);
    }
    say(place::describe(check));
    return 0;
  }

 private:
  Result<place::Plan> read_placement() const {
    if (format_ == "json") {
      return place::read_plan(file_);
    }
    RUDDER_ASSIGN(const place::RankOrder order, shape_.rank_order());
    RUDDER_ASSIGN(const std::string text, read_text(file_));
    RUDDER_ASSIGN(const std::vector<std::string> hosts, format_ == "hosts"
                                                            ? place::parse_host_file(file_.string(), text)
                                                            : place::parse_rankfile(file_.string(), text));
    Result<place::Plan> plan = place::plan_from_hosts(shape_.shape, order, hosts);
    if (!plan) {
      return plan.error().in(file_.string());
    }
    plan->alpha = alpha_;
    return plan;
  }
  static Json result_json(const place::PlanCheck& check) {
    const place::Plan& plan = check.plan;
    return {{"S", plan.spread.S},
            {"Q", plan.spread.Q},
            {"J", plan.J},
            {"J_lb", check.J_lb},
            {"best", {{"S", check.best.S}, {"Q", check.best.Q}, {"J", check.best_J}}},
            {"gap", check.J_lb > 0 ? plan.J / check.J_lb - 1 : 0},
            {"rows", lines_json(check.rows)},
            {"columns", lines_json(check.columns)},
            {"why", check.why},
            {"warnings", check.warnings}};
  }

  TopologyInput input_;
  ShapeInput shape_;
  std::filesystem::path file_;
  std::filesystem::path topology_;
  std::filesystem::path heat_map_;
  std::string format_ = "json";
  double alpha_ = 0.5;
  std::int32_t segment_ = 0;
  place::SolveLimits limits_;
};

}  // namespace

std::unique_ptr<Command> make_place_topology() {
  return std::make_unique<PlaceTopology>();
}
std::unique_ptr<Command> make_place_check() {
  return std::make_unique<PlaceCheck>();
}

}  // namespace rudder::cli
