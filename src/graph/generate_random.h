// SPDX-License-Identifier: Apache-2.0
// The random families. Every edge and every row is drawn from a stream of its own, so no order of work can
// change the graph.
#pragma once

#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/edges.h"
#include "rudder/graph/generators.h"

namespace rudder::graph {

/// R-MAT (Chakrabarti et al. 2004) with a=.57, b=c=.19, d=.05 as in Graph500: 2^scale nodes, ids scrambled.
[[nodiscard]] Result<GraphData> rmat_graph(const GeneratorOptions& options);

/// Chung–Lu: expected degrees follow a power law. Each end of each edge is drawn in proportion to its weight.
[[nodiscard]] Result<GraphData> chung_lu_graph(const GeneratorOptions& options);

/// Planted communities of equal size; the label is the community, features are noisy community means. With
/// multi_label every community has its own class and each of the others with chance 1/4.
[[nodiscard]] Result<GraphData> planted_graph(const GeneratorOptions& options);

/// A seeded permutation of [0, count).
[[nodiscard]] std::vector<NodeId> scrambled_ids(NodeId count, std::uint64_t seed);

/// Edges to draw for this many nodes, after checks of all options that the random families share and of the
/// memory that the graph will take.
[[nodiscard]] Result<std::int64_t> edges_to_draw(NodeId nodes, const GeneratorOptions& options);

/// The structure of an undirected graph with the origin's common part; features, labels and split are left to
/// the caller.
[[nodiscard]] Result<GraphData> graph_of(NodeId nodes, EdgeList edges, std::string source,
                                         const GeneratorOptions& options);

/// Shares of the split: validation and test get half each of what training leaves.
[[nodiscard]] struct SplitShares shares_of(const GeneratorOptions& options);

}  // namespace rudder::graph
