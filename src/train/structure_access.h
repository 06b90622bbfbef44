// SPDX-License-Identifier: Apache-2.0
// What a rank knows of the graph's structure beyond its own part: by the whole structure, or by asking.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/neighbors.h"

namespace rudder::train {

enum class DegreeUse : std::uint8_t { kNone, kAllNodes };

/// degrees() is any thread's.
class StructureAccess {
 public:
  /// `degrees`: whether degrees() will be called. Where `graph` has one part's structure only, the owners are
  /// asked for all nodes' degrees once then, and 4 bytes a node of the graph are held. `graph` and `plane`
  /// must outlive the object.
  [[nodiscard]] static Result<StructureAccess> open(const graph::PartitionedGraph& graph,
                                                    dataplane::Plane& plane, Rank rank, DegreeUse degrees);

  /// For the feed; null with the whole structure.
  [[nodiscard]] sample::RemoteNeighbors* remote() const noexcept { return remote_.get(); }
  /// What the buffer's policy goes by for `halo`: asked of the owners, or empty when it needs nothing. An
  /// error when the policy cannot do without the whole structure.
  [[nodiscard]] Result<std::vector<std::uint32_t>> halo_degrees(std::span<const NodeId> halo,
                                                                const dataplane::BufferOptions& buffer);
  /// In-degrees without self-loops.
  void degrees(std::span<const NodeId> nodes, std::vector<float>& out) const;
  /// What asking has moved since the last call, beside the batches' neighbours.
  [[nodiscard]] sample::AskedTraffic take_asked() noexcept { return std::exchange(asked_, {}); }

 private:
  StructureAccess() = default;

  [[nodiscard]] Status ask_all_degrees(const graph::PartitionedGraph& graph, Rank rank);

  dataplane::Plane* plane_ = nullptr;
  graph::CscView topology_;  ///< the whole one, or nothing
  std::unique_ptr<sample::RemoteNeighbors> remote_;
  std::vector<std::uint32_t> table_;  ///< degrees by node
  sample::AskedTraffic asked_;
};

}  // namespace rudder::train
