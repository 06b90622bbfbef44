// SPDX-License-Identifier: Apache-2.0
// The planner of a host's buffer, with what its policy knows of the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"

namespace rudder::dataplane {

class HostPlanner {
 public:
  /// `parts`: the host's, one after another. `horizon` as for cache::Planner. A policy that cannot run live
  /// is an error. `graph` must outlive the planner. O(nodes + edges of the parts), with VIP O(parts x hops x
  /// edges).
  [[nodiscard]] static Result<std::unique_ptr<HostPlanner>> create(const graph::PartitionedGraph& graph,
                                                                   std::span<const PartId> parts,
                                                                   const RunShape& run,
                                                                   const BufferOptions& options,
                                                                   std::uint32_t horizon);
  HostPlanner(const HostPlanner&) = delete;
  HostPlanner& operator=(const HostPlanner&) = delete;

  [[nodiscard]] cache::Planner& planner() noexcept { return *planner_; }
  /// Batches that the buffer's steersman wants to be known beyond each one that is planned.
  [[nodiscard]] std::uint32_t ahead() const noexcept { return ahead_; }

 private:
  HostPlanner() = default;
  std::unique_ptr<cache::Planner> planner_;
  std::uint32_t ahead_ = 0;
  std::shared_ptr<const cache::PolicyContext> context_;  ///< whose spans the planner's policy looks at
};

}  // namespace rudder::dataplane
