// SPDX-License-Identifier: Apache-2.0
// Runs policies over a recorded trace with the planner that runs live.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/trace.h"
#include "rudder/core/result.h"

namespace rudder::sim {

struct ReplayRow {
  std::string policy;
  std::string buffer;
  std::uint64_t slots = 0;  ///< over all ranks
  cache::Counts counts;     ///< over all ranks
  std::vector<cache::Counts> by_rank;
};

/// One policy at one size over all ranks.
[[nodiscard]] Result<ReplayRow> replay(const cache::Trace& trace, const cache::PolicyInfo& policy,
                                       const cache::PolicySettings& settings,
                                       const cache::BufferSize& buffer);

/// Every policy at every size, `threads` at a time; rows in the order policy within size. `done` (may be
/// empty) hears of each finished row from any thread.
[[nodiscard]] Result<std::vector<ReplayRow>> replay_all(const cache::Trace& trace,
                                                        const std::vector<const cache::PolicyInfo*>& policies,
                                                        const cache::PolicySettings& settings,
                                                        const std::vector<cache::BufferSize>& buffers,
                                                        std::size_t threads,
                                                        const std::function<void(const ReplayRow&)>& done);

}  // namespace rudder::sim
