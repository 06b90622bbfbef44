// SPDX-License-Identifier: Apache-2.0
// From drawn neighbours to the local ids of a message-flow graph.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/core/ids.h"
#include "rudder/sample/sampler.h"

namespace rudder::sample {

/// Nearly all time of sampling goes into cache misses, so each edge walks through a pipeline of three stages
/// with a prefetch before each:
///   drawn   the place of its neighbour's id is known and prefetched,
///   read    its neighbour's id was read and the id's place in the map prefetched,
///   mapped  its local id was written.
/// The stages trail each other by kLag edges. Edges enter and leave in order, so local ids come in order of
/// first appearance, and no result depends on the lag.
///
/// A batch: begin_batch(); for each hop begin_hop(), for each destination take_*() and end_destination(),
/// end_hop(); end_batch().
template <class Map>
class EdgePipeline {
 public:
  /// `nodes` of the graph.
  explicit EdgePipeline(NodeId nodes) : nodes_(nodes), map_(nodes) {}

  void begin_batch(std::span<const NodeId> seeds, std::size_t hops, SampledBatch& out) {
    map_.begin_batch();
    out.layers.resize(hops);
    known_ = 0;
    grow(out.nodes, seeds.size() + 1);
    map_.reserve(out.nodes.data(), 0, seeds.size());
    for (const NodeId seed : seeds) {
      RUDDER_DCHECK(seed >= 0 && seed < nodes_, "a seed is not a node of the graph");
      map_.find_or_insert(seed, out.nodes.data(), known_);
    }
    RUDDER_CHECK(known_ == seeds.size(), "a batch's seeds must be distinct");
    out.seeds = narrow<LocalId>(seeds.size());
  }
  void end_batch(SampledBatch& out) { out.nodes.resize(known_); }

  /// Nodes of the batch so far: the destinations of the hop that begins.
  [[nodiscard]] std::size_t known() const noexcept { return known_; }

  void begin_hop(Mfg& mfg) {
    drawn_ = read_ = mapped_ = 0;
    destinations_ = known_;
    mfg.indptr.resize(destinations_ + 1);
    mfg.indptr[0] = 0;
  }
  void end_destination(std::size_t d, Mfg& mfg) const {
    mfg.indptr[d + 1] = static_cast<std::uint32_t>(drawn_);
  }
  void end_hop(std::vector<NodeId>& nodes, Mfg& mfg) {
    advance(0, nodes, mfg);
    mfg.indices.resize(mapped_);
    mfg.destinations = static_cast<LocalId>(destinations_);
    mfg.sources = static_cast<LocalId>(known_);
  }

  /// The neighbours first[picks[0 .. count)], which must stay in place until end_hop().
  void take_picks(const NodeId* first, const std::uint64_t* picks, std::uint64_t count,
                  std::vector<NodeId>& nodes, Mfg& mfg) {
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t chunk = std::min<std::uint64_t>(count - done, kChunk);
      for (std::uint64_t i = 0; i < chunk; ++i) {
        const NodeId* position = first + picks[done + i];
        __builtin_prefetch(position);
        positions_[(drawn_ + i) % kPipeline] = position;
      }
      done += chunk;
      drawn_ += chunk;
      advance(kLag, nodes, mfg);
    }
  }
  /// The neighbours first[0 .. count), which must stay in place until end_hop().
  void take_run(const NodeId* first, std::uint64_t count, std::vector<NodeId>& nodes, Mfg& mfg) {
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t chunk = std::min<std::uint64_t>(count - done, kChunk);
      const NodeId* begin = first + done;
      for (std::uint64_t i = 0; i < chunk; ++i) {
        if (i % 8 == 0) {
          __builtin_prefetch(begin + i);
        }
        positions_[(drawn_ + i) % kPipeline] = begin + i;
      }
      __builtin_prefetch(begin + chunk - 1);
      done += chunk;
      drawn_ += chunk;
      advance(kLag, nodes, mfg);
    }
  }

 private:
  static constexpr std::size_t kLag = 40;        ///< edges between stages
  static constexpr std::size_t kChunk = 64;      ///< edges that enter at a time
  static constexpr std::size_t kPipeline = 256;  ///< ring of edges in work
  static_assert(kPipeline >= 2 * kLag + kChunk && (kPipeline & (kPipeline - 1)) == 0);

  /// Makes size() at least `size`, in steps that keep the number of reallocations and of elements that
  /// resize() clears small. Vectors reused from an earlier batch seldom grow.
  template <class T>
  static void grow(std::vector<T>& values, std::size_t size) {
    if (values.size() < size) [[unlikely]] {
      values.resize(std::max({size + kChunk, values.capacity() < size ? size + size / 2 : size + size / 16}));
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

  NodeId nodes_;
  Map map_;
  std::array<const NodeId*, kPipeline> positions_{};
  std::array<NodeId, kPipeline> read_nodes_{};
  std::size_t known_ = 0;         ///< nodes of the batch so far
  std::size_t destinations_ = 0;  ///< of the hop
  std::size_t drawn_ = 0;         ///< edges of the hop that passed each stage
  std::size_t read_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace rudder::sample
