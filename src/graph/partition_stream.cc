// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/generate_random.h"
#include "graph/partition_methods.h"

namespace rudder::graph {
namespace {

/// Passes over the nodes: the first places them, the others see where all neighbours went. Gains after the
/// fifth are small.
constexpr int kPasses = 5;
constexpr PartId kUnplaced = std::numeric_limits<PartId>::max();

class Streamer {
 public:
  Streamer(const CscView& topology, const PartitionOptions& options)
      : topology_(topology),
        fennel_(options.method == PartitionMethod::kFennel),
        part_(static_cast<std::size_t>(topology.nodes()), kUnplaced),
        sizes_(options.parts),
        links_(options.parts) {
    const auto nodes = static_cast<double>(topology.nodes());
    const double mean = nodes / options.parts;
    capacity_ = static_cast<std::int64_t>(std::ceil(mean * (1 + options.imbalance)));
    // Fennel's load term alpha x gamma x size^(gamma - 1) with gamma = 1.5, alpha = sqrt(parts) m / n^1.5.
    const double undirected = static_cast<double>(topology.edges()) / 2;
    load_weight_ =
        1.5 * std::sqrt(static_cast<double>(options.parts)) * undirected / (nodes * std::sqrt(nodes));
  }

  void pass(const std::vector<NodeId>& order) {
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const NodeId v : order) {
      place(v);
    }
  }

  std::vector<PartId> take() { return std::move(part_); }

 private:
  /// The best part with room; of equals the emptiest, then the first.
  void place(NodeId v) {
    for (const NodeId u : topology_.neighbors(v)) {
      if (const PartId p = part_[static_cast<std::size_t>(u)]; p != kUnplaced && u != v) {
        ++links_[p];
      }
    }
    PartId best = kUnplaced;
    double best_score = 0;
    for (PartId p = 0; p < sizes_.size(); ++p) {
      if (sizes_[p] >= capacity_) {
        continue;
      }
      const double score = score_of(p);
      if (best == kUnplaced || score > best_score || (score == best_score && sizes_[p] < sizes_[best])) {
        best = p;
        best_score = score;
      }
    }
    // parts x capacity >= nodes, so some part has room.
    part_[static_cast<std::size_t>(v)] = best;
    ++sizes_[best];
    std::fill(links_.begin(), links_.end(), 0);
  }

  [[nodiscard]] double score_of(PartId p) const {
    const auto links = static_cast<double>(links_[p]);
    const auto size = static_cast<double>(sizes_[p]);
    return fennel_ ? links - load_weight_ * std::sqrt(size)
                   : links * (1 - size / static_cast<double>(capacity_));
  }

  const CscView& topology_;
  bool fennel_;
  std::int64_t capacity_ = 0;
  double load_weight_ = 0;
  std::vector<PartId> part_;
  std::vector<std::int64_t> sizes_;  ///< in this pass
  std::vector<std::int64_t> links_;  ///< neighbours of the node in hand by part
};

}  // namespace

std::vector<PartId> assign_streaming(const CscView& topology, const PartitionOptions& options) {
  const std::vector<NodeId> order = scrambled_ids(topology.nodes(), options.seed);
  Streamer streamer(topology, options);
  for (int i = 0; i < kPasses; ++i) {
    streamer.pass(order);
  }
  return streamer.take();
}

}  // namespace rudder::graph
