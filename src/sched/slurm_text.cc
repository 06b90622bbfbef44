// SPDX-License-Identifier: Apache-2.0
// sinfo, scontrol show reservation, scontrol show topology: one line a thing.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"
#include "rudder/place/topology_files.h"
#include "rudder/sched/slurm_state.h"

namespace rudder::sched {
namespace {

constexpr std::size_t kMostLines = std::size_t{1} << 22;

struct Line {
  std::size_t number = 0;
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  while (!text.empty() && number < kMostLines) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      lines.push_back({.number = number, .text = line});
    }
  }
  return lines;
}

Error bad(std::string_view command, const Line& line, std::string_view what) {
  return {Errc::kInvalidData,
          fmt::format("{}:{}: {}: '{}'", command, line.number, what, printable(line.text.substr(0, 120)))};
}

/// Words "Key=Value" of a line; the first of equal keys. Values of Slurm's own one-line records have no
/// blanks.
std::map<std::string_view, std::string_view> fields_of(std::string_view line) {
  std::map<std::string_view, std::string_view> fields;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      const std::string_view value = word.substr(equals + 1);
      fields.emplace(word.substr(0, equals), value == "(null)" ? std::string_view() : value);
    }
  }
  return fields;
}

std::vector<std::string> sorted_words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  std::sort(words.begin(), words.end());
  return words;
}

constexpr std::string_view kReservations = "scontrol show reservation";

Result<SlurmReservation> read_reservation(const Line& line) {
  const auto fields = fields_of(line.text);
  const auto value = [&](std::string_view key) {
    const auto found = fields.find(key);
    return found == fields.end() ? std::string_view() : found->second;
  };
  SlurmReservation reservation;
  reservation.name = value("ReservationName");
  if (reservation.name.empty()) {
    return bad(kReservations, line, "no ReservationName");
  }
  const std::optional<std::int64_t> start = parse_int(value("StartTime"));
  const std::optional<std::int64_t> end = parse_int(value("EndTime"));
  if (!start || !end || *start < 0 || *end < *start || *end > kMaxTime) {
    return bad(kReservations, line, "StartTime and EndTime are no seconds since 1970");
  }
  reservation.start = *start;
  reservation.end = *end;
  if (!value("Nodes").empty()) {
    Result<std::vector<std::string>> nodes = place::expand_hostlist(value("Nodes"));
    if (!nodes) {
      return bad(kReservations, line, nodes.error().message);
    }
    reservation.nodes = std::move(nodes).value();
    std::sort(reservation.nodes.begin(), reservation.nodes.end(), place::natural_less);
  }
  reservation.users = sorted_words(value("Users"));
  return reservation;
}

constexpr std::string_view kTopology = "scontrol show topology";

/// Switches by name, with parents as far as their lines have been read.
struct TopologyReader {
  std::vector<place::Switch> switches;
  std::vector<place::Host> hosts;
  std::map<std::string, place::SwitchId> ids;

  place::SwitchId id_of(std::string_view name) {
    const auto [entry, added] = ids.emplace(std::string(name), static_cast<place::SwitchId>(switches.size()));
    if (added) {
      switches.push_back({.name = entry->first});
    }
    return entry->second;
  }

  Status read(const Line& line) {
    const auto fields = fields_of(line.text);
    const auto value = [&](std::string_view key) {
      const auto found = fields.find(key);
      return found == fields.end() ? std::string_view() : found->second;
    };
    const std::string_view name = value(fields.contains("SwitchName") ? "SwitchName" : "BlockName");
    if (name.empty()) {
      // Larger blocks repeat the hosts of smaller ones; anything else is no topology of a known kind.
      return fields.contains("AggregatedBlock") ? Status()
                                                : bad(kTopology, line, "no SwitchName or BlockName");
    }
    const place::SwitchId id = id_of(name);
    const std::string_view list = value(value("Switches").empty() ? "Nodes" : "Switches");
    if (list.empty()) {
      return {};
    }
    Result<std::vector<std::string>> names = place::expand_hostlist(list);
    if (!names) {
      return bad(kTopology, line, names.error().message);
    }
    for (std::string& one : *names) {
      if (value("Switches").empty()) {
        hosts.push_back({.name = std::move(one), .leaf = id});
        continue;
      }
      place::Switch& child = switches[static_cast<std::size_t>(id_of(one))];
      if (child.parent != place::kNoSwitch && child.parent != id) {
        return bad(kTopology, line, fmt::format("switch '{}' has two parents", one));
      }
      child.parent = id;
    }
    return {};
  }
};

}  // namespace

Result<std::vector<SlurmNode>> parse_sinfo(std::string_view text) {
  RUDDER_ASSIGN(const std::vector<place::NamedState> states, place::parse_states("sinfo", text));
  std::vector<SlurmNode> nodes;
  for (const place::NamedState& state : states) {
    const bool down = state.state == place::HostState::kDown;
    nodes.push_back({.name = state.host,
                     .use = down                                     ? SlurmNodeUse::kDown
                            : state.state == place::HostState::kFree ? SlurmNodeUse::kIdle
                                                                     : SlurmNodeUse::kTaken});
  }
  const auto by_name = [](const SlurmNode& a, const SlurmNode& b) { return a.name < b.name; };
  std::sort(nodes.begin(), nodes.end(), by_name);
  // Kept idle for somebody is idle: who may use it is for reservations and placements to say.
  for (const Line& line : lines_of(text)) {
    const std::size_t blank = line.text.find(' ');
    const std::string_view state = blank == std::string_view::npos ? "" : line.text.substr(blank + 1);
    const bool kept = state.starts_with("reserved") || state.starts_with("planned");
    const SlurmNode named{.name = std::string(line.text.substr(0, blank))};
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), named, by_name);
    if (kept && found != nodes.end() && found->name == named.name && found->use == SlurmNodeUse::kTaken) {
      found->use = SlurmNodeUse::kIdle;
    }
  }
  return nodes;
}

Result<std::vector<SlurmReservation>> parse_reservations(std::string_view text) {
  std::vector<SlurmReservation> reservations;
  for (const Line& line : lines_of(text)) {
    if (line.text.starts_with("No reservations")) {
      continue;
    }
    RUDDER_ASSIGN(SlurmReservation reservation, read_reservation(line));
    if (!reservation.nodes.empty()) {
      reservations.push_back(std::move(reservation));
    }
  }
  return reservations;
}

Result<place::Topology> parse_slurm_topology(std::string_view text, const std::vector<SlurmNode>& nodes) {
  TopologyReader reader;
  for (const Line& line : lines_of(text)) {
    if (line.text.starts_with("No topology")) {
      continue;
    }
    RUDDER_TRY(reader.read(line));
  }
  if (reader.hosts.empty()) {
    const place::SwitchId all = reader.id_of("cluster");
    for (const SlurmNode& node : nodes) {
      reader.hosts.push_back({.name = node.name, .leaf = all});
    }
  }
  Result<place::Topology> topology =
      place::canonical_topology(std::move(reader.switches), std::move(reader.hosts));
  return topology ? topology : topology.error().in(std::string(kTopology));
}

}  // namespace rudder::sched
