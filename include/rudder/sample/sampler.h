// SPDX-License-Identifier: Apache-2.0
// Uniform neighbour sampling without replacement into message-flow graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/neighbors.h"
#include "rudder/sample/schedule.h"

namespace rudder::sample {

/// One layer of a sampled batch, CSC over destinations: destination d receives from sources
/// indices[indptr[d] .. indptr[d+1]). Destinations are the first `destinations` of the sources (same local
/// ids).
struct Mfg {
  LocalId destinations = 0;
  LocalId sources = 0;
  std::vector<std::uint32_t> indptr;  ///< destinations + 1
  std::vector<LocalId> indices;       ///< < sources; distinct within a destination
};

/// layers[0] is the outermost hop, the first that a model computes; layers.back() has the seeds as
/// destinations. layers[k].destinations == layers[k+1].sources.
struct SampledBatch {
  BatchKey key;
  LocalId seeds = 0;          ///< nodes[0 .. seeds) are the seed nodes
  std::vector<NodeId> nodes;  ///< input nodes of layers[0], distinct, in order of first appearance
  std::vector<Mfg> layers;
  AskedTraffic asked;  ///< moved for it: nothing with the whole structure here
};

/// Samples one batch at a time; holds scratch memory (O(nodes) bytes or O(batch)), so use one object a
/// thread. The random stream of node v at hop h is keyed by (seed, epoch, global batch, h, v): results depend
/// on nothing else.
class NeighborSampler {
 public:
  /// `fanout`: neighbours a node at hops 1, 2, … from the seeds; -1 takes all. The topology must outlive the
  /// sampler.
  NeighborSampler(graph::CscView topology, std::vector<int> fanout, std::uint64_t seed);
  ~NeighborSampler();
  NeighborSampler(NeighborSampler&&) noexcept;
  NeighborSampler& operator=(NeighborSampler&&) noexcept;

  /// Seeds must be distinct. O(sampled edges). `out`'s vectors are reused.
  void sample(std::span<const NodeId> seeds, BatchKey key, std::uint64_t global_batch, SampledBatch& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::sample
