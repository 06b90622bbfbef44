// SPDX-License-Identifier: Apache-2.0
// Says, slowly and literally, whether a sampled batch is what a neighbour sampler may return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/graph/graph.h"
#include "rudder/sample/sampler.h"

namespace rudder::test {

/// Checks one layer: shapes, counts, existence, distinctness, CSC order where all neighbours are taken, and
/// that a node not met before gets the next local id. `seen` holds the nodes met so far and grows.
inline ::testing::AssertionResult is_valid_layer(graph::CscView topology, int fanout,
                                                 const sample::Mfg& layer, std::span<const NodeId> nodes,
                                                 std::set<NodeId>& seen) {
  const auto fail = [] { return ::testing::AssertionFailure(); };
  if (layer.destinations != seen.size() || layer.indptr.size() != std::size_t{layer.destinations} + 1 ||
      layer.indptr.front() != 0 || layer.indptr.back() != layer.indices.size() ||
      layer.sources > nodes.size()) {
    return fail() << "shapes: " << layer.destinations << " destinations, " << seen.size() << " nodes so far";
  }
  for (LocalId d = 0; d < layer.destinations; ++d) {
    const std::span<const NodeId> expected = topology.neighbors(nodes[d]);
    if (layer.indptr[d + 1] < layer.indptr[d]) {
      return fail() << "indptr decreases at destination " << d;
    }
    const std::size_t count = layer.indptr[d + 1] - layer.indptr[d];
    const bool all = fanout < 0 || expected.size() <= static_cast<std::size_t>(fanout);
    if (count != (all ? expected.size() : static_cast<std::size_t>(fanout))) {
      return fail() << "node " << nodes[d] << " of degree " << expected.size() << " has " << count
                    << " at fan-out " << fanout;
    }
    std::set<NodeId> taken;
    for (std::size_t i = 0; i < count; ++i) {
      const LocalId local = layer.indices[layer.indptr[d] + i];
      if (local >= layer.sources) {
        return fail() << "local id " << local << " of " << layer.sources << " sources";
      }
      const NodeId neighbor = nodes[local];
      if (!std::binary_search(expected.begin(), expected.end(), neighbor)) {
        return fail() << neighbor << " is no neighbour of " << nodes[d];
      }
      if (!taken.insert(neighbor).second) {
        return fail() << neighbor << " was drawn twice for " << nodes[d];
      }
      if (all && neighbor != expected[i]) {
        return fail() << "neighbour " << i << " of " << nodes[d] << " is not in CSC order";
      }
      const std::size_t next = seen.size();
      if (seen.insert(neighbor).second && local != next) {
        return fail() << neighbor << " appeared first as " << next << " but has local id " << local;
      }
    }
  }
  if (layer.sources != seen.size()) {
    return fail() << layer.sources << " sources, but " << seen.size() << " nodes appeared";
  }
  return ::testing::AssertionSuccess();
}

/// Checks every property of the batch but the distribution of its neighbours.
inline ::testing::AssertionResult is_valid_sample(graph::CscView topology, std::span<const NodeId> seeds,
                                                  std::span<const int> fanout,
                                                  const sample::SampledBatch& batch) {
  if (batch.seeds != seeds.size() || batch.layers.size() != fanout.size() ||
      batch.nodes.size() < seeds.size() || !std::equal(seeds.begin(), seeds.end(), batch.nodes.begin())) {
    return ::testing::AssertionFailure() << "the seeds are not the first nodes";
  }
  std::set<NodeId> seen(seeds.begin(), seeds.end());
  for (std::size_t hop = 0; hop < fanout.size(); ++hop) {
    const std::size_t k = fanout.size() - 1 - hop;
    ::testing::AssertionResult layer =
        is_valid_layer(topology, fanout[hop], batch.layers[k], batch.nodes, seen);
    if (!layer) {
      return layer << " (hop " << hop + 1 << ")";
    }
    if (hop > 0 && batch.layers[k].destinations != batch.layers[k + 1].sources) {
      return ::testing::AssertionFailure() << "layers " << k << " and " << k + 1 << " do not fit together";
    }
  }
  if (seen.size() != batch.nodes.size() || seen != std::set<NodeId>(batch.nodes.begin(), batch.nodes.end())) {
    return ::testing::AssertionFailure() << "the batch's nodes are not those that appeared, once each";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace rudder::test
