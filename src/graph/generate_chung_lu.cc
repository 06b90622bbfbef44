// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/rng.h"

#include "graph/generate_random.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kChungLuEdges = 0x63686c75;

/// Draws from a discrete distribution in O(1): Walker's alias table in Vose's form.
class AliasTable {
 public:
  explicit AliasTable(std::vector<double> weights) : keep_(std::move(weights)), alias_(keep_.size()) {
    double sum = 0;
    for (const double weight : keep_) {
      sum += weight;
    }
    std::vector<std::size_t> small;
    std::vector<std::size_t> large;
    for (std::size_t i = 0; i < keep_.size(); ++i) {
      keep_[i] *= static_cast<double>(keep_.size()) / sum;
      alias_[i] = i;
      (keep_[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::size_t low = small.back();
      const std::size_t high = large.back();
      small.pop_back();
      alias_[low] = high;
      keep_[high] -= 1 - keep_[low];
      if (keep_[high] < 1) {
        large.pop_back();
        small.push_back(high);
      }
    }
    // What is left differs from 1 by rounding only.
    for (const auto* rest : {&small, &large}) {
      for (const std::size_t i : *rest) {
        keep_[i] = 1;
      }
    }
  }

  [[nodiscard]] std::size_t draw(CounterRng& random) const {
    const std::size_t i = random.below(keep_.size());
    return random.unit() < keep_[i] ? i : alias_[i];
  }

 private:
  std::vector<double> keep_;
  std::vector<std::size_t> alias_;
};

/// Expected degrees w_i = c (i + i0)^(-1/(exponent-1)) up to the factor c. i0 holds the largest near
/// sqrt(mean x nodes), so that no pair expects more than one edge (Chung and Lu 2002).
std::vector<double> power_law_weights(NodeId nodes, double exponent, double mean) {
  const auto n = static_cast<double>(nodes);
  const double largest = std::max(std::sqrt(mean * n), 1.0);
  const double first = n * std::pow(mean * (exponent - 2) / (largest * (exponent - 1)), exponent - 1);
  std::vector<double> weights(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::pow(static_cast<double>(i) + first + 1, -1 / (exponent - 1));
  }
  return weights;
}

}  // namespace

Result<GraphData> chung_lu_graph(const GeneratorOptions& options) {
  RUDDER_ASSIGN(const std::int64_t count, edges_to_draw(options.nodes, options));
  if (!(options.exponent > 2 && options.exponent <= 100)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("exponent: {}, expected above 2 and at most 100", options.exponent)};
  }
  EdgeList edges;
  edges.source.resize(static_cast<std::size_t>(count));
  edges.target.resize(static_cast<std::size_t>(count));
  {
    const AliasTable table(power_law_weights(options.nodes, options.exponent, 2 * options.edge_factor));
    const std::vector<NodeId> ids = scrambled_ids(options.nodes, options.seed);
    for (std::size_t i = 0; i < edges.source.size(); ++i) {
      CounterRng random({options.seed, kChungLuEdges, i});
      edges.source[i] = ids[table.draw(random)];
      edges.target[i] = ids[table.draw(random)];
    }
  }
  RUDDER_ASSIGN(GraphData data, graph_of(options.nodes, std::move(edges),
                                         fmt::format("chung-lu: {} nodes, edge factor {}, exponent {}",
                                                     options.nodes, options.edge_factor, options.exponent),
                                         options));
  add_random_labels(data, options.classes, options.seed);
  add_noise_features(data, options.features, options.seed);
  add_random_split(data, shares_of(options), options.seed);
  return data;
}

}  // namespace rudder::graph
