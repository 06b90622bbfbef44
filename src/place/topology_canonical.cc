// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "rudder/core/ids.h"
#include "rudder/place/topology.h"

#include "place/topology_builder.h"

namespace rudder::place {
namespace {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The run of digits at `at`, without leading zeros; `at` moves behind it.
std::string_view take_number(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') {
    ++at;
  }
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return text.substr(begin, at - begin);
}

template <class Named>
std::vector<std::int32_t> natural_order(const std::vector<Named>& items) {
  std::vector<std::int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::int32_t a, std::int32_t b) {
    return natural_less(items[static_cast<std::size_t>(a)].name, items[static_cast<std::size_t>(b)].name);
  };
  if (!std::is_sorted(order.begin(), order.end(), less)) {
    std::sort(order.begin(), order.end(), less);
  }
  return order;
}

/// Names must be unique and non-empty; in natural order equal names are neighbours.
template <class Named>
Status check_names(const std::vector<Named>& items, std::span<const std::int32_t> order,
                   std::string_view kind) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& name = items[static_cast<std::size_t>(order[i])].name;
    if (name.empty()) {
      return Error{Errc::kInvalidData, fmt::format("a {} has no name", kind)};
    }
    if (i > 0 && items[static_cast<std::size_t>(order[i - 1])].name == name) {
      return Error{Errc::kInvalidData, fmt::format("{} '{}' is listed twice", kind, name)};
    }
  }
  return {};
}

/// Children of each switch, in natural order, as one array with offsets; the last list holds the roots.
struct Children {
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> ids;

  Children(const std::vector<Switch>& switches, std::span<const std::int32_t> order)
      : begin(switches.size() + 2), ids(switches.size()) {
    for (const Switch& s : switches) {
      ++begin[slot(s.parent, switches.size()) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (const std::int32_t id : order) {
      ids[next[slot(switches[static_cast<std::size_t>(id)].parent, switches.size())]++] = id;
    }
  }
  static std::size_t slot(SwitchId parent, std::size_t count) {
    return parent == kNoSwitch ? count : static_cast<std::size_t>(parent);
  }
  [[nodiscard]] std::span<const std::int32_t> of(SwitchId parent) const {
    const std::size_t at = slot(parent, begin.size() - 2);
    return std::span(ids).subspan(begin[at], begin[at + 1] - begin[at]);
  }
};

Status check_references(const std::vector<Switch>& switches, const std::vector<Host>& hosts) {
  const auto known = [&](SwitchId id) { return id >= 0 && static_cast<std::size_t>(id) < switches.size(); };
  for (const Switch& s : switches) {
    if (s.parent != kNoSwitch && !known(s.parent)) {
      return Error{Errc::kInvalidData, fmt::format("switch '{}' has an unknown parent", s.name)};
    }
  }
  for (const Host& host : hosts) {
    if (!known(host.leaf)) {
      return Error{Errc::kInvalidData, fmt::format("host '{}' hangs on no known switch", host.name)};
    }
  }
  return {};
}

}  // namespace

std::optional<SwitchCycle> find_cycle(const std::vector<Switch>& switches) {
  // Each walk towards the root marks what it meets; one that meets its own mark went round.
  std::vector<std::int32_t> walk_of(switches.size(), -1);
  for (std::size_t start = 0; start < switches.size(); ++start) {
    auto at = narrow<SwitchId>(start);
    while (at != kNoSwitch && walk_of[static_cast<std::size_t>(at)] < 0) {
      walk_of[static_cast<std::size_t>(at)] = narrow<std::int32_t>(start);
      at = switches[static_cast<std::size_t>(at)].parent;
    }
    if (at == kNoSwitch || walk_of[static_cast<std::size_t>(at)] != narrow<std::int32_t>(start)) {
      continue;
    }
    std::string path = switches[static_cast<std::size_t>(at)].name;
    SwitchId next = switches[static_cast<std::size_t>(at)].parent;
    constexpr int kShown = 8;
    for (int shown = 1; next != at && shown < kShown; ++shown) {
      path += " below " + switches[static_cast<std::size_t>(next)].name;
      next = switches[static_cast<std::size_t>(next)].parent;
    }
    path += next == at ? " below " + switches[static_cast<std::size_t>(at)].name : " below ...";
    return SwitchCycle{at, "the switches form a cycle: " + path};
  }
  return std::nullopt;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view left = take_number(a, i);
      const std::string_view right = take_number(b, j);
      if (left.size() != right.size()) {
        return left.size() < right.size();
      }
      if (const int order = left.compare(right); order != 0) {
        return order < 0;
      }
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const bool a_ends = i == a.size();
  const bool b_ends = j == b.size();
  return a_ends != b_ends ? a_ends : a < b;
}

Result<Topology> canonical_topology(std::vector<Switch> switches, std::vector<Host> hosts) {
  if (hosts.empty()) {
    return Error{Errc::kInvalidData, "the topology has no hosts"};
  }
  RUDDER_TRY(check_references(switches, hosts));
  if (const auto cycle = find_cycle(switches)) {
    return Error{Errc::kInvalidData, cycle->text};
  }
  const std::vector<std::int32_t> order = natural_order(switches);
  RUDDER_TRY(check_names(switches, order, "switch"));
  const std::vector<std::int32_t> host_order = natural_order(hosts);
  RUDDER_TRY(check_names(hosts, host_order, "host"));

  const Children children(switches, order);
  std::vector<SwitchId> walk(children.of(kNoSwitch).begin(), children.of(kNoSwitch).end());
  walk.reserve(switches.size());
  std::vector<SwitchId> renamed(switches.size(), kNoSwitch);
  Topology topology;
  topology.switches.reserve(switches.size());
  for (std::size_t i = 0; i < walk.size(); ++i) {  // breadth-first: `walk` grows while it is walked
    Switch& old = switches[static_cast<std::size_t>(walk[i])];
    renamed[static_cast<std::size_t>(walk[i])] = narrow<SwitchId>(i);
    const auto below = children.of(walk[i]);
    walk.insert(walk.end(), below.begin(), below.end());
    Switch s = old;
    s.level = 0;
    if (s.parent != kNoSwitch) {
      s.parent = renamed[static_cast<std::size_t>(s.parent)];
      s.level = topology.switches[static_cast<std::size_t>(s.parent)].level + 1;
    }
    topology.switches.push_back(std::move(s));
  }
  topology.hosts.reserve(hosts.size());
  for (const std::int32_t id : host_order) {
    Host& host = hosts[static_cast<std::size_t>(id)];
    host.leaf = renamed[static_cast<std::size_t>(host.leaf)];
    topology.hosts.push_back(std::move(host));
  }
  return topology;
}

std::vector<Minipod> minipods(const Topology& topology, std::int32_t level) {
  // Parents come before children, so one pass finds each switch's ancestor at the level (or itself above it).
  std::vector<SwitchId> root(topology.switches.size());
  for (std::size_t i = 0; i < root.size(); ++i) {
    const Switch& s = topology.switches[i];
    root[i] = s.level <= level ? narrow<SwitchId>(i) : root[static_cast<std::size_t>(s.parent)];
  }
  std::vector<std::vector<HostId>> below(topology.switches.size());
  for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
    below[static_cast<std::size_t>(root[static_cast<std::size_t>(topology.hosts[h].leaf)])].push_back(
        narrow<HostId>(h));
  }
  std::vector<Minipod> pods;
  for (std::size_t i = 0; i < below.size(); ++i) {
    if (!below[i].empty()) {
      pods.push_back({topology.switches[i].name, narrow<SwitchId>(i), std::move(below[i])});
    }
  }
  return pods;
}

std::int32_t default_minipod_level(const Topology& topology) {
  const auto is_root = [](const Switch& s) { return s.parent == kNoSwitch; };
  const auto roots = std::count_if(topology.switches.begin(), topology.switches.end(), is_root);
  return roots > 1 && static_cast<std::size_t>(roots) == topology.switches.size() ? 0 : 1;
}

}  // namespace rudder::place
