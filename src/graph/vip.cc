// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/vip.h"

#include <algorithm>
#include <cstddef>

namespace rudder::graph {
namespace {

/// Chance that a chosen destination of this degree takes one particular neighbour.
double take_probability(int fanout, EdgeIndex degree) {
  if (fanout < 0 || degree <= fanout) {
    return 1;
  }
  return static_cast<double>(fanout) / static_cast<double>(degree);
}

}  // namespace

std::vector<float> inclusion_probability(const CscView& topology, std::span<const NodeId> train,
                                         std::size_t batch, std::span<const int> fanout) {
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::vector<double> frontier(nodes, 0);
  if (!train.empty()) {
    const double seed = std::min(1.0, static_cast<double>(batch) / static_cast<double>(train.size()));
    for (const NodeId v : train) {
      frontier[static_cast<std::size_t>(v)] = seed;
    }
  }
  // Chances of being left out: by every hop so far, and by the hop in hand.
  std::vector<double> never(nodes);
  std::transform(frontier.begin(), frontier.end(), never.begin(), [](double p) { return 1 - p; });
  std::vector<double> missed(nodes);
  for (const int limit : fanout) {
    std::fill(missed.begin(), missed.end(), 1.0);
    for (std::size_t u = 0; u < nodes; ++u) {
      const auto neighbors = topology.neighbors(static_cast<NodeId>(u));
      const double taken = frontier[u] * take_probability(limit, static_cast<EdgeIndex>(neighbors.size()));
      if (taken > 0) {
        for (const NodeId v : neighbors) {
          missed[static_cast<std::size_t>(v)] *= 1 - taken;
        }
      }
    }
    for (std::size_t v = 0; v < nodes; ++v) {
      frontier[v] = 1 - missed[v];
      never[v] *= missed[v];
    }
  }
  std::vector<float> result(nodes);
  std::transform(never.begin(), never.end(), result.begin(),
                 [](double p) { return static_cast<float>(1 - p); });
  return result;
}

}  // namespace rudder::graph
