// SPDX-License-Identifier: Apache-2.0
// The ways to give each node a part. All are deterministic in the seed and take checked options.
#pragma once

#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/partition.h"

namespace rudder::graph {

/// Upper bound that keeps `partition.json` and the number of folders reasonable.
inline constexpr PartId kMaxParts = 16384;

/// METIS k-way. Balances stored edges and, where there are any, training nodes. Works on the undirected
/// structure without self-loops, whatever is stored. Refuses what METIS's 32-bit integers cannot count.
[[nodiscard]] Result<std::vector<PartId>> assign_metis(const Graph& graph, const PartitionOptions& options);

/// Linear deterministic greedy (Stanton and Kliot 2012) or Fennel (Tsourakakis et al. 2014), restreamed
/// (Nishimura and Ugander 2013) in a seeded order. No part exceeds (1 + imbalance) x mean nodes, rounded up.
/// O(passes x (edges + nodes x parts)).
[[nodiscard]] std::vector<PartId> assign_streaming(const CscView& topology, const PartitionOptions& options);

/// By a hash of the node's id: a node's part depends on nothing else.
[[nodiscard]] std::vector<PartId> assign_hash(NodeId nodes, const PartitionOptions& options);

/// A seeded permutation dealt out in turn: sizes differ by at most one.
[[nodiscard]] std::vector<PartId> assign_random(NodeId nodes, const PartitionOptions& options);

/// Bytes that METIS takes for a graph of this size, its input arrays included.
[[nodiscard]] std::size_t metis_memory_bytes(NodeId nodes, EdgeIndex edges);

/// METIS's form of a graph: undirected, no self-loops, 32-bit.
struct MetisGraph {
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> neighbors;
  std::vector<std::int32_t> weights;  ///< per node: degree + 1 and, with `constraints` 2, 1 for training
  std::int32_t constraints = 1;
};

/// An error when METIS's integers are too narrow.
[[nodiscard]] Result<MetisGraph> to_metis(const CscView& topology, std::span<const NodeId> train);

}  // namespace rudder::graph
