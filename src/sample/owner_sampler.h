// SPDX-License-Identifier: Apache-2.0
// Sampling with the structure of one part: neighbours of other nodes are asked of their owners.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/neighbors.h"
#include "rudder/sample/sampler.h"

#include "sample/edge_pipeline.h"
#include "sample/id_map.h"

namespace rudder::sample {

/// Lets so many threads compute at a time; threads that wait for answers give their turn back. Thread-safe.
class Turns {
 public:
  explicit Turns(std::size_t count) : free_(count) {}

  void take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void give() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;
};

/// Makes the batches that a NeighborSampler over the whole structure makes, bit by bit. Each hop asks each
/// owner once about all its nodes among the destinations, and draws for the own ones meanwhile. Memory is
/// O(batch). One object a thread.
class OwnerSampler {
 public:
  /// `nodes` of the whole graph; `remote` and `turns` outlive the sampler. The thread computes within a turn
  /// of its own taking.
  OwnerSampler(graph::CscSlice own, NodeId nodes, std::vector<int> fanout, std::uint64_t seed,
               RemoteNeighbors& remote, Turns& turns);

  /// As NeighborSampler::sample. After an error `out` holds anything.
  [[nodiscard]] Status sample(std::span<const NodeId> seeds, BatchKey key, std::uint64_t global_batch,
                              SampledBatch& out);

 private:
  struct Place {
    NodeId node = 0;
    LocalId local = 0;
  };
  /// Where a destination's neighbours are in answered_.ids.
  struct Run {
    std::size_t begin = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] Status expand_hop(const HopRule& rule, SampledBatch& out, Mfg& mfg);
  void split(std::span<const NodeId> destinations);
  void take(std::size_t destinations, std::vector<NodeId>& nodes, Mfg& mfg);

  graph::CscSlice own_;
  std::vector<int> fanout_;
  std::uint64_t seed_;
  RemoteNeighbors& remote_;
  Turns& turns_;
  EdgePipeline<HashIdMap> edges_;
  NeighborDrawer drawer_;
  // Of the hop.
  std::vector<Place> places_;        ///< of remote destinations, ascending by node
  std::vector<NodeId> asked_;        ///< their nodes
  std::vector<NodeId> here_;         ///< own destinations, in order
  DrawnNeighbors answered_, drawn_;  ///< for asked_ and here_
  std::vector<Run> runs_;            ///< by destination; of remote ones
};

}  // namespace rudder::sample
