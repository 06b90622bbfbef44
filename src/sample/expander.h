// SPDX-License-Identifier: Apache-2.0
// The sampling loop over a whole structure: seeds to message-flow graphs, over one of the id maps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/core/ids.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/sampler.h"

#include "sample/draw.h"
#include "sample/edge_pipeline.h"
#include "sample/select.h"

namespace rudder::sample {

template <class Map>
class Expander {
 public:
  Expander(graph::CscView topology, const std::vector<int>& fanout)
      : topology_(topology), fanout_(fanout), edges_(topology.nodes()) {
    for (const int limit : fanout_) {
      RUDDER_CHECK(limit >= -1, "a fan-out is a number of neighbours or -1");
    }
  }

  /// `stream` identifies the batch (batch_stream).
  void expand(std::span<const NodeId> seeds, std::uint64_t stream, SampledBatch& out) {
    edges_.begin_batch(seeds, fanout_.size(), out);
    for (std::size_t hop = 0; hop < fanout_.size(); ++hop) {
      expand_hop(hop_stream(stream, hop), fanout_[hop], out.nodes, out.layers[fanout_.size() - 1 - hop]);
    }
    edges_.end_batch(out);
  }

 private:
  static constexpr std::size_t kDegreesAhead = 12;  ///< destinations between prefetch and use of their degree

  void expand_hop(std::uint64_t stream, int fanout, std::vector<NodeId>& nodes, Mfg& mfg) {
    const std::size_t destinations = edges_.known();
    const std::uint64_t limit = limit_of(fanout);
    const EdgeIndex* indptr = topology_.indptr.data();
    edges_.begin_hop(mfg);
    for (std::size_t d = 0; d < destinations; ++d) {
      if (d + kDegreesAhead < destinations) {
        __builtin_prefetch(indptr + nodes[d + kDegreesAhead]);
      }
      const NodeId node = nodes[d];
      const NodeId* neighbors = topology_.indices.data() + indptr[node];
      const auto degree = static_cast<std::uint64_t>(indptr[node + 1] - indptr[node]);
      const std::uint64_t count = std::min(degree, limit);
      if (count == degree) {
        edges_.take_run(neighbors, degree, nodes, mfg);
      } else if (count > 0) {
        if (picks_.size() < count) [[unlikely]] {
          picks_.resize(count);
        }
        selector_.choose(node_stream(stream, node), degree, count, picks_.data());
        edges_.take_picks(neighbors, picks_.data(), count, nodes, mfg);
      }
      edges_.end_destination(d, mfg);
    }
    edges_.end_hop(nodes, mfg);
  }

  graph::CscView topology_;
  std::vector<int> fanout_;
  EdgePipeline<Map> edges_;
  Selector selector_;
  std::vector<std::uint64_t> picks_;
};

}  // namespace rudder::sample
