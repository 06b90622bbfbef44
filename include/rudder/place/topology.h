// SPDX-License-Identifier: Apache-2.0
// A cluster's network as a tree of switches with hosts at its leaves, and the minipods that placement sees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::place {

using SwitchId = std::int32_t;
using HostId = std::int32_t;
using MinipodId = std::int32_t;
inline constexpr SwitchId kNoSwitch = -1;

enum class HostState : std::uint8_t { kFree, kBusy, kDown };

struct Switch {
  std::string name;
  SwitchId parent = kNoSwitch;  ///< kNoSwitch for a root; always smaller than the switch's own id
  std::int32_t level = 0;       ///< distance from its root
};

struct Host {
  std::string name;
  SwitchId leaf = kNoSwitch;  ///< the switch that the host hangs on
  HostState state = HostState::kFree;
};

/// Canonical form: parents before children, switches of one parent and all hosts in natural order of names
/// ("n9" before "n10"), so that equal clusters give equal ids whatever order a file lists them in.
struct Topology {
  std::vector<Switch> switches;
  std::vector<Host> hosts;
};

/// A set of hosts between which distance does not count: all hosts below one switch.
struct Minipod {
  std::string name;
  SwitchId root = kNoSwitch;
  std::vector<HostId> hosts;  ///< ascending
};

/// Sorts into the canonical form and checks it: names unique and non-empty, parents and leaves known, no
/// cycles, at least one host. Parents are ids of the given vector, in any order; levels are computed.
/// Errors: kInvalidData with the name. O(n log n), no recursion.
[[nodiscard]] Result<Topology> canonical_topology(std::vector<Switch> switches, std::vector<Host> hosts);

/// The switches at distance `level` from their root, each with the hosts below it; hosts that hang on a
/// switch above that level are a minipod of their own, named after it. Switches without hosts are left out.
/// Level 0 makes each root one minipod. O(n).
[[nodiscard]] std::vector<Minipod> minipods(const Topology& topology, std::int32_t level);

/// The level taken when the user names none: 1, or 0 when no switch has a parent and there are several roots.
[[nodiscard]] std::int32_t default_minipod_level(const Topology& topology);

/// Digits compare as numbers: "n9" < "n10". A total order (ties by plain comparison).
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace rudder::place
