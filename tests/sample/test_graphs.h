// SPDX-License-Identifier: Apache-2.0
// Small graphs in CSC form for the sampler's tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/graph/graph.h"

namespace rudder::test {

struct OwnedCsc {
  std::vector<EdgeIndex> indptr{0};
  std::vector<NodeId> indices;

  void add_node(const std::vector<NodeId>& neighbors) {
    indices.insert(indices.end(), neighbors.begin(), neighbors.end());
    indptr.push_back(static_cast<EdgeIndex>(indices.size()));
  }
  [[nodiscard]] graph::CscView view() const { return {indptr, indices}; }
};

/// Node 0 receives from 1, 2, … degree, which receive from nobody.
inline OwnedCsc star(std::int64_t degree) {
  std::vector<NodeId> leaves(static_cast<std::size_t>(degree));
  std::iota(leaves.begin(), leaves.end(), 1);
  OwnedCsc graph;
  graph.add_node(leaves);
  graph.indptr.resize(static_cast<std::size_t>(degree) + 2, degree);
  return graph;
}

/// Skewed degrees from 0 up to a few hundred; sources are drawn with a preference for low ids.
inline OwnedCsc skewed(NodeId nodes, std::uint64_t seed) {
  OwnedCsc graph;
  CounterRng rng{seed};
  for (NodeId v = 0; v < nodes; ++v) {
    const std::uint64_t degree = rng.below(3) == 0 ? 0 : std::uint64_t{1} << rng.below(9);
    std::set<NodeId> sources;
    for (std::uint64_t i = 0; i < degree; ++i) {
      const double u = rng.unit();
      sources.insert(static_cast<NodeId>(u * u * static_cast<double>(nodes)));
    }
    sources.erase(v);
    graph.add_node({sources.begin(), sources.end()});
  }
  return graph;
}

/// `count` distinct nodes of [0, nodes) in random order.
inline std::vector<NodeId> random_nodes(NodeId nodes, std::size_t count, std::uint64_t seed) {
  std::vector<NodeId> all(static_cast<std::size_t>(nodes));
  std::iota(all.begin(), all.end(), 0);
  CounterRng rng{seed, 1};
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(all[i], all[i + rng.below(all.size() - i)]);
  }
  all.resize(count);
  return all;
}

}  // namespace rudder::test
