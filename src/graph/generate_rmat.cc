// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"

#include "graph/generate_random.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kRmatEdges = 0x726d6174;
constexpr int kMaxScale = 30;

/// Upper ends of the quadrants a, a+b and a+b+c as fractions of 2^32.
constexpr auto kA = static_cast<std::uint32_t>(0.57 * 0x1p32);
constexpr auto kB = static_cast<std::uint32_t>(0.76 * 0x1p32);
constexpr auto kC = static_cast<std::uint32_t>(0.95 * 0x1p32);

/// Descends `scale` levels of the adjacency matrix; 32 random bits choose each level's quadrant.
std::pair<std::uint64_t, std::uint64_t> draw_edge(int scale, CounterRng random) {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  std::uint64_t bits = 0;
  for (int level = 0; level < scale; ++level) {
    bits = level % 2 == 0 ? random() : bits >> 32;
    const auto place = static_cast<std::uint32_t>(bits);
    const auto past_a = static_cast<unsigned>(place >= kA);
    const auto past_b = static_cast<unsigned>(place >= kB);
    const auto past_c = static_cast<unsigned>(place >= kC);
    row = row << 1 | past_b;
    column = column << 1 | ((past_a ^ past_b) | past_c);
  }
  return {row, column};
}

}  // namespace

Result<GraphData> rmat_graph(const GeneratorOptions& options) {
  if (options.scale < 0 || options.scale > kMaxScale) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("scale: {}, expected 0 to {}", options.scale, kMaxScale)};
  }
  const NodeId nodes = NodeId{1} << options.scale;
  RUDDER_ASSIGN(const std::int64_t count, edges_to_draw(nodes, options));
  EdgeList edges;
  edges.source.resize(static_cast<std::size_t>(count));
  edges.target.resize(static_cast<std::size_t>(count));
  {
    const std::vector<NodeId> ids = scrambled_ids(nodes, options.seed);
    const std::uint64_t key = stream_key({options.seed, kRmatEdges});
    for (std::size_t i = 0; i < edges.source.size(); ++i) {
      const auto [row, column] = draw_edge(options.scale, CounterRng(key ^ mix64(i)));
      edges.source[i] = ids[row];
      edges.target[i] = ids[column];
    }
  }
  RUDDER_ASSIGN(GraphData data,
                graph_of(nodes, std::move(edges),
                         fmt::format("rmat: scale {}, edge factor {}, a=.57 b=.19 c=.19 d=.05", options.scale,
                                     options.edge_factor),
                         options));
  add_random_labels(data, options.classes, options.seed);
  add_noise_features(data, options.features, options.seed);
  add_random_split(data, shares_of(options), options.seed);
  return data;
}

}  // namespace rudder::graph
