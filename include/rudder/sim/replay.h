// SPDX-License-Identifier: Apache-2.0
// Runs policies over a recorded trace with the planner that runs live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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
  std::string buffer;       ///< as written
  std::uint64_t slots = 0;  ///< over all ranks
  cache::Counts counts;     ///< over all ranks
  std::vector<cache::Counts> by_rank;
  /// Rows that Belady's optimum fetches with the same slots; replay_all() sets it.
  std::optional<std::uint64_t> min_fetched;

  /// Rows fetched over rows fetched without a buffer. 1 when there is nothing to fetch.
  [[nodiscard]] double ratio_to_none() const;
  /// Rows fetched over min_fetched; nullopt when that is not known.
  [[nodiscard]] std::optional<double> ratio_to_min() const;
};

/// One policy at one size over all ranks, one after another. A pure function of its arguments. Errors:
/// settings out of range, a trace without the degrees or the inclusion probabilities that the policy needs, a
/// trace whose batches do not match its header.
[[nodiscard]] Result<ReplayRow> replay(const cache::Trace& trace, const cache::PolicyInfo& policy,
                                       const cache::PolicySettings& settings,
                                       const cache::BufferSize& buffer);

/// Every policy at every size; rows in the order policy within size. The work is divided by rank over
/// `threads` threads (the caller is one of them; 0 counts as 1); results do not depend on their number. Where
/// `min` is not among the policies it runs on the side. `done` (may be empty) hears of each finished row,
/// from any of the threads but never from two at once; the row's min_fetched may not be set yet.
[[nodiscard]] Result<std::vector<ReplayRow>> replay_all(const cache::Trace& trace,
                                                        const std::vector<const cache::PolicyInfo*>& policies,
                                                        const cache::PolicySettings& settings,
                                                        const std::vector<cache::BufferSize>& buffers,
                                                        std::size_t threads,
                                                        const std::function<void(const ReplayRow&)>& done);

}  // namespace rudder::sim
