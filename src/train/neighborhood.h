// SPDX-License-Identifier: Apache-2.0
// Message-flow graphs with all neighbours, for inference layer by layer.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/sampler.h"

namespace rudder::train {

/// In-degrees without self-loops. O(log degree) a node.
void degrees_without_loops(const graph::CscView& topology, std::span<const NodeId> nodes,
                           std::vector<float>& out);

/// Some destinations with all their neighbours.
struct Neighborhood {
  std::vector<NodeId>
      nodes;  ///< destinations, then `remote` remote ones, then owned ones; each group ascending
  std::size_t destinations = 0;
  std::size_t remote = 0;
  sample::Mfg mfg;  ///< over positions in nodes

  [[nodiscard]] std::span<const NodeId> remote_nodes() const noexcept {
    return std::span(nodes).subspan(destinations, remote);
  }
};

/// Cuts a list of owned destinations into neighbourhoods of bounded size. Holds 4 bytes a node of the graph.
class NeighborhoodBuilder {
 public:
  /// Owned are the nodes of the slice, of a graph of `nodes`. The structure must outlive the builder.
  NeighborhoodBuilder(const graph::CscSlice& own, NodeId nodes);

  /// Takes as many of the first `destinations` (ascending, owned) as keep `out` within `most_nodes` nodes, at
  /// least one; returns how many. O(entries + n log n) for n nodes.
  std::size_t build(std::span<const NodeId> destinations, std::size_t most_nodes, Neighborhood& out);

 private:
  bool visit(NodeId v, std::vector<NodeId>& visited);

  graph::CscSlice own_;
  std::vector<LocalId> place_;
};

}  // namespace rudder::train
