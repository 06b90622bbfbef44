// SPDX-License-Identifier: Apache-2.0
// From an edge list in any order to sorted CSC without duplicates.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

struct EdgeList {
  std::vector<NodeId> source;
  std::vector<NodeId> target;

  void add(NodeId from, NodeId to) {
    source.push_back(from);
    target.push_back(to);
  }
};

/// What building the structure left out. An isolated node is one without any edge afterwards; it is kept.
struct DropReport {
  std::int64_t self_loops = 0;
  std::int64_t duplicates = 0;  ///< repeats of an edge; with kUndirected, of the unordered pair
  std::int64_t isolated = 0;

  void append_to(Origin& origin) const;
};

enum class Direction : std::uint8_t { kAsGiven, kUndirected };

struct Csc {
  std::vector<EdgeIndex> indptr;
  std::vector<NodeId> indices;
  [[nodiscard]] CscView view() const noexcept { return {indptr, indices}; }
};

/// Self-loops and duplicates are dropped and counted. Ids outside [0, nodes) are an error. O(E) by two
/// counting sorts; takes the list to free it early.
[[nodiscard]] Result<Csc> build_csc(NodeId nodes, EdgeList edges, Direction direction, DropReport& report);

}  // namespace rudder::graph
