// SPDX-License-Identifier: Apache-2.0
// The sampling loop: seeds to message-flow graphs, over one of the id maps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/core/ids.h"
#include "rudder/core/rng.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/sampler.h"

#include "sample/select.h"

namespace rudder::sample {

/// Nearly all time goes into cache misses, so each edge walks through a pipeline of three stages with a
/// prefetch before each:
///   drawn   its position in `indices` is known and prefetched,
///   read    its neighbour's id was read and the id's place in the map prefetched,
///   mapped  its local id was written.
/// The stages trail each other by kLag edges. Edges enter and leave in order, so local ids come in order of
/// first appearance, and no result depends on the lag.
template <class Map>
class Expander {
 public:
  Expander(graph::CscView topology, const std::vector<int>& fanout)
      : topology_(topology), fanout_(fanout), map_(topology.nodes()) {
    for (const int limit : fanout_) {
      RUDDER_CHECK(limit >= -1, "a fan-out is a number of neighbours or -1");
    }
  }

  /// `key` identifies the batch; hop h of node v draws from the stream (key, h, v).
  void expand(std::span<const NodeId> seeds, std::uint64_t key, SampledBatch& out) {
    map_.begin_batch();
    out.layers.resize(fanout_.size());
    known_ = 0;
    grow(out.nodes, seeds.size() + 1);
    map_.reserve(out.nodes.data(), 0, seeds.size());
    for (const NodeId seed : seeds) {
      RUDDER_DCHECK(seed >= 0 && seed < topology_.nodes(), "a seed is not a node of the graph");
      map_.find_or_insert(seed, out.nodes.data(), known_);
    }
    RUDDER_CHECK(known_ == seeds.size(), "a batch's seeds must be distinct");
    out.seeds = narrow<LocalId>(seeds.size());
    for (std::size_t hop = 0; hop < fanout_.size(); ++hop) {
      expand_hop(stream_key({key, hop}), fanout_[hop], out.nodes, out.layers[fanout_.size() - 1 - hop]);
    }
    out.nodes.resize(known_);
  }

 private:
  static constexpr std::size_t kLag = 40;           ///< edges between stages
  static constexpr std::size_t kDegreesAhead = 12;  ///< destinations between prefetch and use of their degree
  static constexpr std::size_t kChunk = 64;         ///< edges that enter at a time
  static constexpr std::size_t kPipeline = 256;     ///< ring of edges in work
  static_assert(kPipeline >= 2 * kLag + kChunk && (kPipeline & (kPipeline - 1)) == 0);

  /// Makes size() at least `size`, in steps that keep the number of reallocations and of elements that
  /// resize() clears small. Vectors reused from an earlier batch seldom grow.
  template <class T>
  static void grow(std::vector<T>& values, std::size_t size) {
    if (values.size() < size) [[unlikely]] {
      values.resize(std::max({size + kChunk, values.capacity() < size ? size + size / 2 : size + size / 16}));
    }
  }

  void expand_hop(std::uint64_t key, int fanout, std::vector<NodeId>& nodes, Mfg& mfg) {
    const std::size_t destinations = known_;
    const std::uint64_t limit =
        fanout < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(fanout);
    const EdgeIndex* indptr = topology_.indptr.data();
    drawn_ = read_ = mapped_ = 0;
    mfg.indptr.resize(destinations + 1);
    mfg.indptr[0] = 0;
    for (std::size_t d = 0; d < destinations; ++d) {
      if (d + kDegreesAhead < destinations) {
        __builtin_prefetch(indptr + nodes[d + kDegreesAhead]);
      }
      const NodeId node = nodes[d];
      const auto begin = static_cast<std::uint64_t>(indptr[node]);
      const std::uint64_t degree = static_cast<std::uint64_t>(indptr[node + 1]) - begin;
      const std::uint64_t count = std::min(degree, limit);
      if (count < degree) {
        draw_some(CounterRng(stream_step(key, static_cast<std::uint64_t>(node))), begin, degree, count, nodes,
                  mfg);
      } else {
        draw_all(begin, degree, nodes, mfg);
      }
      mfg.indptr[d + 1] = static_cast<std::uint32_t>(drawn_);
    }
    advance(0, nodes, mfg);
    mfg.indices.resize(mapped_);
    mfg.destinations = static_cast<LocalId>(destinations);
    mfg.sources = static_cast<LocalId>(known_);
  }

  static std::uint64_t stream_step(std::uint64_t key, std::uint64_t word) { return mix64(key ^ word); }

  void draw_some(CounterRng rng, std::uint64_t begin, std::uint64_t degree, std::uint64_t count,
                 std::vector<NodeId>& nodes, Mfg& mfg) {
    if (count == 0) {
      return;
    }
    if (picks_.size() < count) [[unlikely]] {
      picks_.resize(count);
    }
    selector_.choose(rng, degree, count, picks_.data());
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t chunk = std::min<std::uint64_t>(count - done, kChunk);
      for (std::uint64_t i = 0; i < chunk; ++i) {
        const NodeId* position = topology_.indices.data() + begin + picks_[done + i];
        __builtin_prefetch(position);
        positions_[(drawn_ + i) % kPipeline] = position;
      }
      done += chunk;
      drawn_ += chunk;
      advance(kLag, nodes, mfg);
    }
  }

  void draw_all(std::uint64_t begin, std::uint64_t degree, std::vector<NodeId>& nodes, Mfg& mfg) {
    for (std::uint64_t done = 0; done < degree;) {
      const std::uint64_t chunk = std::min<std::uint64_t>(degree - done, kChunk);
      const NodeId* first = topology_.indices.data() + begin + done;
      for (std::uint64_t i = 0; i < chunk; ++i) {
        if (i % 8 == 0) {
          __builtin_prefetch(first + i);
        }
        positions_[(drawn_ + i) % kPipeline] = first + i;
      }
      __builtin_prefetch(first + chunk - 1);
      done += chunk;
      drawn_ += chunk;
      advance(kLag, nodes, mfg);
    }
  }

  /// Moves edges on until the stages trail each other by at most `lag`.
  void advance(std::size_t lag, std::vector<NodeId>& nodes, Mfg& mfg) {
    for (; read_ + lag < drawn_; ++read_) {
      const NodeId node = *positions_[read_ % kPipeline];
      map_.prefetch(node);
      read_nodes_[read_ % kPipeline] = node;
    }
    if (mapped_ + lag >= read_) {
      return;
    }
    const std::size_t end = read_ - lag;
    const std::size_t more = end - mapped_;
    RUDDER_CHECK(std::max(end, known_ + more) < std::numeric_limits<LocalId>::max(),
                 "a sampled batch has more than 2^32 nodes or edges");
    grow(nodes, known_ + more + 1);
    grow(mfg.indices, end);
    map_.reserve(nodes.data(), known_, more);
    NodeId* const node_data = nodes.data();
    LocalId* const local_ids = mfg.indices.data();
    std::size_t known = known_;
    for (std::size_t i = mapped_; i < end; ++i) {
      local_ids[i] = map_.find_or_insert(read_nodes_[i % kPipeline], node_data, known);
    }
    known_ = known;
    mapped_ = end;
  }

  graph::CscView topology_;
  std::vector<int> fanout_;
  Map map_;
  Selector selector_;
  std::vector<std::uint64_t> picks_;
  std::array<const NodeId*, kPipeline> positions_{};
  std::array<NodeId, kPipeline> read_nodes_{};
  std::size_t known_ = 0;  ///< nodes of the batch so far
  std::size_t drawn_ = 0;  ///< edges of the hop that passed each stage
  std::size_t read_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace rudder::sample
