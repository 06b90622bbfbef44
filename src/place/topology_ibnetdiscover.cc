// SPDX-License-Identifier: Apache-2.0
// The output of ibnetdiscover: switches with the peer of each port. A fabric is no tree: hosts hang on one
// leaf a rail, leaves on many spines. Domains are made of it by distance from the hosts: leaf groups are
// leaves that share a host; domains of level k are what stays connected through switches at most k hops from
// a leaf. In a fat tree these are scalable units, pods and the core.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "rudder/core/ids.h"

#include "place/topology_readers.h"

namespace rudder::place {
namespace {

/// Disjoint sets with path halving.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::int32_t root(std::int32_t x) {
    while (parent_[at(x)] != x) {
      x = parent_[at(x)] = parent_[at(parent_[at(x)])];
    }
    return x;
  }
  void join(std::int32_t a, std::int32_t b) {
    const std::int32_t x = root(a);
    const std::int32_t y = root(b);
    parent_[at(std::max(x, y))] = std::min(x, y);
  }

 private:
  static std::size_t at(std::int32_t x) { return static_cast<std::size_t>(x); }
  std::vector<std::int32_t> parent_;
};

/// The text between the quotes that come first; `rest` moves behind them. Empty when there are none.
std::string_view take_quoted(std::string_view& rest) {
  const std::size_t open = rest.find('"');
  const std::size_t close = open == std::string_view::npos ? open : rest.find('"', open + 1);
  if (close == std::string_view::npos) {
    return {};
  }
  const std::string_view text = rest.substr(open + 1, close - open - 1);
  rest.remove_prefix(close + 1);
  return text;
}

/// "MF0;A09-LEAF-04:MQM9701/U1" → "A09-LEAF-04"; other descriptions as they are.
std::string_view system_name(std::string_view description) {
  if (const std::size_t semicolon = description.find(';'); semicolon != std::string_view::npos) {
    description.remove_prefix(semicolon + 1);
    description = description.substr(0, description.find(':'));
  }
  return trim(description);
}

struct FabricSwitch {
  std::string guid;
  std::string name;
  std::size_t line = 0;
  std::int32_t hops = -1;  ///< from the nearest switch with hosts
};

struct Fabric {
  std::vector<FabricSwitch> switches;
  std::vector<std::pair<std::int32_t, std::string>> links;        ///< switch, peer's GUID
  std::vector<std::pair<std::int32_t, std::int32_t>> neighbours;  ///< of both directions, resolved
  std::vector<std::pair<std::string, std::size_t>> hosts;         ///< name, line of the first mention
  std::vector<std::pair<std::int32_t, std::int32_t>> ports;       ///< switch, host
  NameMap<std::int32_t> by_guid;
  NameMap<std::int32_t> host_ids;
  std::size_t unnamed = 0;
};

/// A node description that names its host: "HOST" or "HOST ADAPTER". Default ones ("MT4129 ConnectX7 Mellanox
/// Technologies") do not, and "localhost" may be many hosts, which would join their leaf groups.
std::string_view host_of(std::string_view description) {
  const std::string_view host = take_word(description);
  static_cast<void>(take_word(description));
  return description.empty() && is_host_name(host) && !host.starts_with("localhost") ? host
                                                                                     : std::string_view();
}

Status add_switch(std::string_view line, const Place& place, Fabric& fabric, const TopologyBuilder& builder) {
  const std::string_view guid = take_quoted(line);
  if (!guid.starts_with("S-")) {
    return builder.error(place, "a switch without its \"S-...\" id");
  }
  const std::string_view description = take_quoted(line);
  FabricSwitch s{std::string(guid), std::string(system_name(description)), place.line, -1};
  if (!fabric.by_guid.emplace(s.guid, narrow<std::int32_t>(fabric.switches.size())).second) {
    return builder.error(place, fmt::format("switch '{}' is listed twice", s.guid));
  }
  if (fabric.switches.size() >= kMaxHosts) {
    return builder.error(place, fmt::format("more than {} switches", kMaxHosts));
  }
  fabric.switches.push_back(std::move(s));
  return {};
}

Status add_port(std::string_view line, const Place& place, Fabric& fabric, const TopologyBuilder& builder) {
  const auto here = narrow<std::int32_t>(fabric.switches.size() - 1);
  const std::string_view peer = take_quoted(line);
  if (peer.starts_with("S-")) {
    fabric.links.emplace_back(here, std::string(peer));
    return {};
  }
  if (!peer.starts_with("H-")) {
    return peer.starts_with("R-") ? Status() : builder.error(place, "a port without its peer's id");
  }
  const std::string_view description = take_quoted(line);
  if (description.ends_with("Aggregation Node")) {  // a switch's own in-network reduction unit
    return {};
  }
  const std::string_view host = host_of(description);
  if (host.empty()) {
    ++fabric.unnamed;
    return {};
  }
  if (fabric.hosts.size() >= kMaxHosts) {
    return builder.error(place, fmt::format("more than {} hosts", kMaxHosts));
  }
  const auto [known, added] =
      fabric.host_ids.emplace(std::string(host), narrow<std::int32_t>(fabric.hosts.size()));
  if (added) {
    fabric.hosts.emplace_back(std::string(host), place.line);
  }
  fabric.ports.emplace_back(here, known->second);
  return {};
}

Status parse(std::string_view text, Fabric& fabric, const TopologyBuilder& builder) {
  bool in_switch = false;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const Place place{lines.number(), {}};
    if (line.starts_with("Switch")) {
      RUDDER_TRY(add_switch(line, place, fabric, builder));
      in_switch = true;
    } else if (line.starts_with("Ca") || line.starts_with("Rt")) {
      in_switch = false;  // adapters' own records say nothing that the switches' do not
    } else if (in_switch && line.starts_with('[')) {
      RUDDER_TRY(add_port(line, place, fabric, builder));
    }
  }
  for (const auto& [from, guid] : fabric.links) {
    const auto to = fabric.by_guid.find(guid);
    if (to == fabric.by_guid.end()) {
      return builder.error({fabric.switches[static_cast<std::size_t>(from)].line, {}},
                           fmt::format("a port's peer '{}' is not listed", guid));
    }
    fabric.neighbours.emplace_back(from, to->second);
    fabric.neighbours.emplace_back(to->second, from);
  }
  return {};
}

/// Breadth first from all switches with hosts; the largest distance.
std::int32_t measure_hops(Fabric& fabric) {
  std::sort(fabric.neighbours.begin(), fabric.neighbours.end());
  std::vector<std::int32_t> walk;
  for (const auto& [s, host] : fabric.ports) {
    if (std::int32_t& hops = fabric.switches[static_cast<std::size_t>(s)].hops; hops != 0) {
      hops = 0;
      walk.push_back(s);
    }
  }
  std::int32_t furthest = 0;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    const std::int32_t hops = fabric.switches[static_cast<std::size_t>(walk[i])].hops;
    furthest = std::max(furthest, hops);
    for (auto edge =
             std::lower_bound(fabric.neighbours.begin(), fabric.neighbours.end(), std::pair(walk[i], 0));
         edge != fabric.neighbours.end() && edge->first == walk[i]; ++edge) {
      if (FabricSwitch& next = fabric.switches[static_cast<std::size_t>(edge->second)]; next.hops < 0) {
        next.hops = hops + 1;
        walk.push_back(edge->second);
      }
    }
  }
  return furthest;
}

/// Names by description where these are unique, else by GUID.
void settle_names(Fabric& fabric) {
  NameMap<int> uses;
  for (const FabricSwitch& s : fabric.switches) {
    ++uses[s.name];
  }
  for (FabricSwitch& s : fabric.switches) {
    if (s.name.empty() || uses[s.name] > 1) {
      s.name = s.guid;
    }
  }
}

/// Joins switches that are wired to one another and at most `level` hops from a host. Going over all wires
/// again for each level is cheap next to keeping them sorted by level.
void join_up_to(std::int32_t level, const Fabric& fabric, Sets& sets) {
  const auto hops = [&](std::int32_t s) { return fabric.switches[static_cast<std::size_t>(s)].hops; };
  for (const auto& [a, b] : fabric.neighbours) {
    if (hops(a) >= 0 && hops(b) >= 0 && std::max(hops(a), hops(b)) <= level) {
      sets.join(a, b);
    }
  }
}

/// Name of each set: its first switch at that distance in natural order, and how many more there are.
std::vector<std::string> set_names(std::int32_t level, const Fabric& fabric, Sets& sets) {
  std::vector<std::string> first(fabric.switches.size());
  std::vector<std::size_t> more(fabric.switches.size());
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
    const FabricSwitch& s = fabric.switches[i];
    if (s.hops != level) {
      continue;
    }
    const auto root = static_cast<std::size_t>(sets.root(narrow<std::int32_t>(i)));
    more[root] += first[root].empty() ? 0U : 1U;
    if (first[root].empty() || natural_less(s.name, first[root])) {
      first[root] = s.name;
    }
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (more[i] > 0) {
      first[i] += fmt::format("+{}", more[i]);
    }
  }
  return first;
}

/// Makes the domains of one level and hangs those of the level below on them. `below` holds each switch's
/// domain so far and is brought up to this level.
Status add_level(std::int32_t level, std::int32_t furthest, const Fabric& fabric, Sets& sets,
                 std::vector<SwitchId>& below, TopologyBuilder& builder) {
  const std::vector<std::string> names = set_names(level, fabric, sets);
  std::vector<SwitchId> domains(fabric.switches.size(), kNoSwitch);
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
    const FabricSwitch& s = fabric.switches[i];
    const auto root = static_cast<std::size_t>(sets.root(narrow<std::int32_t>(i)));
    // A set without a switch of this level is the same as one level down, unless leaves are wired directly.
    if (s.hops < 0 || s.hops > level || (names[root].empty() && furthest > 0)) {
      continue;
    }
    if (domains[root] == kNoSwitch) {
      const std::string name =
          names[root].empty() ? fmt::format("fabric of {}", fabric.switches[root].name) : names[root];
      RUDDER_ASSIGN(domains[root], builder.declare(name, {s.line, {}}));
    }
    if (below[i] != kNoSwitch) {
      RUDDER_TRY(builder.set_parent(below[i], domains[root], {s.line, {}}));
    }
    below[i] = domains[root];
  }
  return {};
}

Status build(const Fabric& fabric, std::int32_t furthest, TopologyBuilder& builder) {
  Sets sets(fabric.switches.size());
  std::vector<std::int32_t> first_leaf(fabric.hosts.size(), -1);
  for (const auto& [s, host] : fabric.ports) {
    std::int32_t& leaf = first_leaf[static_cast<std::size_t>(host)];
    leaf = leaf < 0 ? s : leaf;
    sets.join(leaf, s);
  }
  std::vector<SwitchId> below(fabric.switches.size(), kNoSwitch);
  RUDDER_TRY(add_level(0, furthest, fabric, sets, below, builder));
  for (std::size_t host = 0; host < fabric.hosts.size(); ++host) {
    RUDDER_TRY(builder.add_host(fabric.hosts[host].first, below[static_cast<std::size_t>(first_leaf[host])],
                                {fabric.hosts[host].second, {}}));
  }
  // Leaves that are wired to one another without a spine still make one domain, at level 1.
  for (std::int32_t level = 1; level <= std::max(furthest, 1); ++level) {
    join_up_to(level, fabric, sets);
    RUDDER_TRY(add_level(level, furthest, fabric, sets, below, builder));
  }
  return {};
}

}  // namespace

Status read_ibnetdiscover(std::string_view text, const TopologyFileOptions&, TopologyBuilder& builder) {
  Fabric fabric;
  RUDDER_TRY(parse(text, fabric, builder));
  if (fabric.hosts.empty()) {
    return builder.error({}, "no port names a host");
  }
  settle_names(fabric);
  const std::int32_t furthest = measure_hops(fabric);
  if (fabric.unnamed > 0) {
    builder.remark(fmt::format("{} ports lead to adapters whose description names no host; they are left out",
                               fabric.unnamed));
  }
  return build(fabric, furthest, builder);
}

}  // namespace rudder::place
