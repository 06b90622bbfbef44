// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/ids.h"
#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"
#include "rudder/place/topology_files.h"

#include "place/json_document.h"
#include "place/topology_builder.h"
#include "place/topology_readers.h"

namespace rudder::place {
namespace {

using nlohmann::json;

/// Slurm's base states and flags (slurm/slurm.h, node_state_string). In what Slurm writes, one that is not
/// named here is a later version's and counts as down; in what people write it is a mistake.
struct KnownState {
  std::string_view name;
  HostState state;
};
constexpr std::array<KnownState, 37> kStates = {{
    {"IDLE", HostState::kFree},
    {"CLOUD", HostState::kFree},
    {"DYNAMIC_NORM", HostState::kFree},
    {"ALLOCATED", HostState::kBusy},
    {"ALLOC", HostState::kBusy},
    {"MIXED", HostState::kBusy},
    {"MIX", HostState::kBusy},
    {"COMPLETING", HostState::kBusy},
    {"COMP", HostState::kBusy},
    {"PLANNED", HostState::kBusy},
    {"RESERVED", HostState::kBusy},
    {"RESV", HostState::kBusy},
    {"BLOCKED", HostState::kBusy},
    {"DOWN", HostState::kDown},
    {"DRAIN", HostState::kDown},
    {"DRAINED", HostState::kDown},
    {"DRAINING", HostState::kDown},
    {"DRNG", HostState::kDown},
    {"FAIL", HostState::kDown},
    {"FAILING", HostState::kDown},
    {"ERROR", HostState::kDown},
    {"FUTURE", HostState::kDown},
    {"INVAL", HostState::kDown},
    {"UNKNOWN", HostState::kDown},
    {"UNK", HostState::kDown},
    {"MAINT", HostState::kDown},
    {"REBOOT", HostState::kDown},
    {"REBOOT_ISSUED", HostState::kDown},
    {"REBOOT_REQUESTED", HostState::kDown},
    {"POWERED_DOWN", HostState::kDown},
    {"POWERING_DOWN", HostState::kDown},
    {"POWERING_UP", HostState::kDown},
    {"POWER_DOWN", HostState::kDown},
    {"POWER_UP", HostState::kDown},
    {"POWER_DRAIN", HostState::kDown},
    {"NOT_RESPONDING", HostState::kDown},
    {"NO_RESPOND", HostState::kDown},
}};

const KnownState* find_state(std::string_view name) {
  const auto* const found =
      std::find_if(kStates.begin(), kStates.end(), [&](const KnownState& each) { return each.name == name; });
  return found == kStates.end() ? nullptr : found;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// One word of a state; suffixes of sinfo's text form: "-" planned, others (not responding, powered down or
/// going, rebooting, in maintenance) down. A name that is none goes to `unknown`.
HostState state_of(std::string_view word, std::string& unknown) {
  const std::string name = upper(word.substr(0, word.find_last_not_of("*~#!%$@^-+") + 1));
  const std::string_view suffix = word.substr(std::min(word.size(), name.size()));
  const KnownState* const known = find_state(name);
  HostState state = known == nullptr ? HostState::kDown : known->state;
  if (known == nullptr && unknown.empty()) {
    unknown = name;
  }
  if (!suffix.empty()) {
    state = std::max(state, suffix == "-" || suffix == "+" ? HostState::kBusy : HostState::kDown);
  }
  return state;
}

/// "IDLE+DRAIN" of scontrol's text form, "idle" and "idle*" of sinfo's; `unknown`: the first name that is
/// none.
HostState state_of_words(std::string_view text, std::string& unknown) {
  HostState worst = HostState::kFree;
  while (true) {
    const std::size_t plus = text.find('+');
    const bool split = plus != std::string_view::npos && plus + 1 < text.size();
    worst = std::max(worst, state_of(text.substr(0, split ? plus : text.size()), unknown));
    if (!split) {
      return worst;
    }
    text.remove_prefix(plus + 1);
  }
}

HostState state_of_words(std::string_view text) {
  std::string unknown;  // a later version's: down
  return state_of_words(text, unknown);
}

/// A state member: text, or a list of texts (base state and flags). Worst wins.
bool merge_state(const json* value, HostState& worst, bool& seen) {
  if (value == nullptr || value->is_null()) {
    return true;
  }
  if (const auto* text = value->get_ptr<const std::string*>()) {
    worst = std::max(worst, state_of_words(*text));
    seen = true;
    return true;
  }
  if (!value->is_array()) {
    return false;
  }
  for (const json& item : *value) {
    const auto* text = item.get_ptr<const std::string*>();
    if (text == nullptr) {
      return false;
    }
    worst = std::max(worst, state_of_words(*text));
    seen = true;
  }
  return true;
}

class StateReader {
 public:
  explicit StateReader(const std::string& where) : where_(where) {}

  Status read_json(std::string_view text) {
    constexpr std::array<std::string_view, 7> kKeep = {"nodes", "sinfo",       "node",     "state",
                                                       "name",  "state_flags", "hostnames"};
    RUDDER_ASSIGN(const json document, parse_json(where_, text, {.keep = kKeep, .keep_whole = {}}));
    if (const json* list = member(document, "sinfo"); list != nullptr && list->is_array()) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        RUDDER_TRY(sinfo_entry((*list)[i], fmt::format("sinfo[{}]", i)));
      }
      return {};
    }
    const json* list = member(document, "nodes");
    if (list == nullptr || !list->is_array()) {
      return fail({}, "expected \"nodes\" or \"sinfo\" (sinfo --json, scontrol show node --json)");
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      RUDDER_TRY(node_entry((*list)[i], fmt::format("nodes[{}]", i)));
    }
    return {};
  }

  /// `scontrol show node`, with or without -o: words of a node follow its NodeName=. A reason comes after the
  /// state and is anybody's text, so only the first State= counts.
  Status read_scontrol(std::string_view text) {
    std::string_view node;
    std::string place;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
        if (word.starts_with("NodeName=")) {
          if (!node.empty()) {
            return fail(place, fmt::format("node '{}' has no State=", node.substr(0, 80)));
          }
          place = fmt::format("line {}", lines.number());
          node = word.substr(word.find('=') + 1);
        } else if (word.starts_with("State=") && !node.empty()) {
          RUDDER_TRY(add(node, state_of_words(word.substr(word.find('=') + 1)), place));
          node = {};
        }
      }
    }
    return node.empty() ? Status() : fail(place, fmt::format("node '{}' has no State=", node.substr(0, 80)));
  }

  Status read_list(std::string_view text) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      const std::string place = fmt::format("line {}", lines.number());
      line = line.substr(0, line.find('#'));
      const std::string_view hosts = take_word(line);
      const std::string_view state = take_word(line);
      if (hosts.empty()) {
        continue;
      }
      if (!line.empty()) {
        return fail(place, fmt::format("expected HOSTS [STATE]: '{}'", line.substr(0, 80)));
      }
      std::string unknown;
      const HostState said = state.empty() ? HostState::kFree : state_of_words(state, unknown);
      if (!unknown.empty()) {
        std::vector<std::string_view> names;
        std::transform(kStates.begin(), kStates.end(), std::back_inserter(names),
                       [](const KnownState& each) { return each.name; });
        const std::string near = nearest_name(unknown, names);
        return fail(place, fmt::format("'{}' is no state of a node{}", unknown.substr(0, 80),
                                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
      }
      Result<std::vector<std::string>> names = expand_hostlist(hosts, kMaxHosts);
      if (!names) {
        return fail(place, names.error().message);
      }
      for (const std::string& name : *names) {
        RUDDER_TRY(add(name, said, place));
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<NamedState> take() { return std::move(states_); }

 private:
  Error fail(std::string_view place, std::string_view what) const {
    return {Errc::kInvalidData, place.empty() ? fmt::format("{}: {}", where_, what)
                                              : fmt::format("{}: {}: {}", where_, place, what)};
  }
  Status add(std::string_view name, HostState state, std::string_view place) {
    if (!is_host_name(name)) {
      return fail(place, "a node without a name that a host can have");
    }
    if (states_.size() >= kMaxHosts) {
      return fail(place, fmt::format("more than {} hosts", kMaxHosts));
    }
    const auto [known, added] = ids_.emplace(std::string(name), states_.size());
    if (added) {
      states_.push_back({std::string(name), state, std::string(place)});
    } else {
      NamedState& before = states_[known->second];
      before.state = std::max(before.state, state);
    }
    return {};
  }
  Status node_entry(const json& node, const std::string& place) {
    HostState state = HostState::kFree;
    bool seen = false;
    if (!merge_state(member(node, "state"), state, seen) ||
        !merge_state(member(node, "state_flags"), state, seen) || !seen) {
      return fail(place, "a node without a state");
    }
    return add(text_member(node, "name"), state, place);
  }
  Status sinfo_entry(const json& entry, const std::string& place) {
    HostState state = HostState::kFree;
    bool seen = false;
    const json* node = member(entry, "node");
    if (node == nullptr || !merge_state(member(*node, "state"), state, seen) || !seen) {
      return fail(place, "an entry without node.state");
    }
    const json* nodes = member(entry, "nodes");
    const json* names = nodes == nullptr ? nullptr : member(*nodes, "nodes");
    if (names == nullptr || !names->is_array()) {
      return fail(place, "an entry without nodes.nodes");
    }
    for (const json& name : *names) {
      const auto* text = name.get_ptr<const std::string*>();
      if (text == nullptr) {
        return fail(place, "nodes.nodes holds something that is no name");
      }
      RUDDER_TRY(add(*text, state, place));
    }
    return {};
  }

  std::string where_;
  std::vector<NamedState> states_;
  NameMap<std::size_t> ids_;
};

}  // namespace

Result<std::vector<NamedState>> parse_states(const std::string& where, std::string_view text) {
  text = without_byte_order_mark(text);
  StateReader reader(where);
  const std::string_view start = trim(text.substr(0, 4096));
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && start[first] == '{';
  const bool is_scontrol = first != std::string_view::npos && start.substr(first).starts_with("NodeName=");
  RUDDER_TRY(is_json       ? reader.read_json(text)
             : is_scontrol ? reader.read_scontrol(text)
                           : reader.read_list(text));
  return reader.take();
}

Result<std::vector<NamedState>> read_states(const std::filesystem::path& path) {
  RUDDER_ASSIGN(const std::string text, read_text(path, kMaxFileBytes));
  return parse_states(path.string(), text);
}

Result<StateReport> apply_states(Topology& topology, const std::vector<NamedState>& states,
                                 Strangers strangers) {
  const auto less = [](const Host& host, std::string_view name) { return natural_less(host.name, name); };
  StateReport report;
  const NamedState* first_stranger = nullptr;
  std::vector<bool> named(topology.hosts.size());
  for (const NamedState& state : states) {
    const auto at =
        std::lower_bound(topology.hosts.begin(), topology.hosts.end(), std::string_view(state.host), less);
    if (at == topology.hosts.end() || at->name != state.host) {
      if (report.strangers.empty()) {
        first_stranger = &state;
      }
      report.strangers.push_back(state.host);
      continue;
    }
    at->state = state.state;
    named[static_cast<std::size_t>(at - topology.hosts.begin())] = true;
  }
  if (strangers == Strangers::kError && first_stranger != nullptr) {
    const Error error{Errc::kInvalidData,
                      fmt::format("{} hosts with a state are not in the topology, first '{}'",
                                  report.strangers.size(), first_stranger->host)};
    return first_stranger->place.empty() ? error : error.in(first_stranger->place);
  }
  for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
    Host& host = topology.hosts[h];
    if (!named[h]) {
      host.state = HostState::kDown;
      report.not_in_state.push_back(host.name);
    }
    std::int64_t& count = host.state == HostState::kFree   ? report.free
                          : host.state == HostState::kBusy ? report.busy
                                                           : report.down;
    ++count;
  }
  return report;
}

}  // namespace rudder::place
