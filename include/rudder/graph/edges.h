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
  /// Repeats of an edge; with kUndirected, of the unordered pair: (a,b) and (b,a) given once each are one
  /// edge and one duplicate. So edges given = self_loops + duplicates + distinct edges (pairs), exactly.
  std::int64_t duplicates = 0;
  /// kUndirected: pairs given in both directions, part of `duplicates`. Readers of formats that list each
  /// edge in both directions subtract it before they report duplicates.
  std::int64_t both_directions = 0;
  std::int64_t isolated = 0;

  void append_to(Origin& origin) const;
};

enum class Direction : std::uint8_t { kAsGiven, kUndirected };

struct Csc {
  std::vector<EdgeIndex> indptr;
  std::vector<NodeId> indices;
  [[nodiscard]] CscView view() const noexcept { return {indptr, indices}; }
};

/// Entry (from, to) makes `from` an in-neighbour of `to`; kUndirected adds the opposite entry. Self-loops and
/// duplicates are dropped and counted (added to `report`). Ids outside [0, nodes) are an error. O(nodes +
/// edges) by counting sorts; at most 24 bytes an edge given and 40 a distinct pair of extra memory. Takes the
/// list to free it early.
[[nodiscard]] Result<Csc> build_csc(NodeId nodes, EdgeList edges, Direction direction, DropReport& report);

}  // namespace rudder::graph
