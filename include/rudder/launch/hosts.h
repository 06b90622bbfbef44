// SPDX-License-Identifier: Apache-2.0
// The machines of a run, as a file names them, and which ranks go where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::launch {

/// Most ranks of one run, and most hosts.
inline constexpr Rank kMostRanks = 4096;

struct HostEntry {
  std::string name;     ///< as ssh takes it: a name, an address, USER@NAME
  Rank slots = 1;       ///< ranks it has room for
  std::string address;  ///< by which other hosts reach it; empty: by its name
  [[nodiscard]] bool operator==(const HostEntry&) const = default;
};

/// A line a host: NAME [slots=N] [address=ADDRESS]; '#' begins a comment. Errors name `origin`, the line and
/// what is wrong there: no host at all, a name that ssh could take for an option or that has other characters
/// than names and addresses have, an unknown or repeated word, a host that was named before, more than
/// kMostRanks slots in all.
[[nodiscard]] Result<std::vector<HostEntry>> parse_hosts(std::string_view text, const std::string& origin);

/// Slots of all hosts.
[[nodiscard]] Rank slots_of(std::span<const HostEntry> hosts) noexcept;

/// Consecutive ranks.
struct RankRange {
  Rank first = 0;
  Rank count = 0;
  [[nodiscard]] bool operator==(const RankRange&) const = default;
};

/// The ranks of each host: ascending, in the hosts' order, each host's slots filled before the next one's.
/// What does not fit all slots is spread over the hosts evenly, the first ones getting one more. The last
/// hosts may get none. There is at least one host.
[[nodiscard]] std::vector<RankRange> spread_ranks(std::span<const HostEntry> hosts, Rank ranks);

/// A host's name without the user in front.
[[nodiscard]] std::string_view bare_name(std::string_view name) noexcept;

}  // namespace rudder::launch
