// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/rng.h"

#include "graph/generate_random.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kPlantedEdges = 0x706c616e;
constexpr std::uint64_t kMeanStream = 0x6d65616e;
constexpr std::uint64_t kClassStream = 0x636c6173;

/// Members of community c lie at [begin(c), begin(c + 1)) of a scrambled order: sizes differ by at most one.
struct Communities {
  std::uint64_t nodes;
  std::uint64_t count;

  [[nodiscard]] std::uint64_t begin(std::uint64_t c) const { return c * nodes / count; }
  [[nodiscard]] std::uint64_t size(std::uint64_t c) const { return begin(c + 1) - begin(c); }
  [[nodiscard]] std::uint64_t of(std::uint64_t place) const { return ((place + 1) * count - 1) / nodes; }

  /// The other end of an edge of the node at `place`.
  [[nodiscard]] std::uint64_t partner(std::uint64_t place, double mixing, CounterRng& random) const {
    const std::uint64_t own = of(place);
    if (random.unit() >= mixing) {
      return begin(own) + random.below(size(own));
    }
    const std::uint64_t outside = random.below(nodes - size(own));
    return outside < begin(own) ? outside : outside + size(own);
  }
};

/// Row = mean of the community + noise of variance 1 in every column. Means of two communities lie 2 sqrt(2)
/// apart whatever the number of columns: a row alone tells the community roughly, the mean of a few
/// neighbours' rows well.
void add_community_features(GraphData& data, const GeneratorOptions& options) {
  add_noise_features(data, options.features, options.seed);
  const auto scale = static_cast<float>(2 / std::sqrt(static_cast<double>(options.features)));
  const std::uint64_t mean_seed = stream_key({options.seed, kMeanStream});
  std::vector<float> means(static_cast<std::size_t>(options.classes) * options.features);
  for (std::int64_t c = 0; c < options.classes; ++c) {
    noise_row(mean_seed, c,
              std::span(means).subspan(static_cast<std::size_t>(c) * options.features, options.features));
  }
  std::vector<float> row(options.features);
  for (std::size_t v = 0; v < data.labels.size(); ++v) {
    noise_row(options.seed, static_cast<NodeId>(v), row);
    const float* mean = means.data() + static_cast<std::size_t>(data.labels[v]) * options.features;
    for (std::size_t column = 0; column < row.size(); ++column) {
      row[column] += scale * mean[column];
    }
    store_row(data, static_cast<NodeId>(v), row);
  }
}

/// From one community a node to the classes of its community.
void give_several_classes(GraphData& data, std::uint64_t seed) {
  const auto classes = static_cast<std::size_t>(data.classes);
  std::vector<std::uint8_t> of_community(classes * classes);
  for (std::size_t community = 0; community < classes; ++community) {
    for (std::size_t c = 0; c < classes; ++c) {
      CounterRng random({seed, kClassStream, community, c});
      of_community[community * classes + c] = c == community || random.below(4) == 0 ? 1 : 0;
    }
  }
  for (const std::int64_t community : data.labels) {
    const auto row = std::span(of_community).subspan(static_cast<std::size_t>(community) * classes, classes);
    data.label_rows.insert(data.label_rows.end(), row.begin(), row.end());
  }
  data.labels.clear();
}

Status check_planted(const GeneratorOptions& options) {
  if (options.classes > options.nodes) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("classes: {} communities of {} nodes", options.classes, options.nodes)};
  }
  if (!(options.mixing >= 0 && options.mixing <= 1)) {
    return Error{Errc::kInvalidArgument, fmt::format("mixing: {}, expected 0 to 1", options.mixing)};
  }
  if (options.classes == 1 && options.mixing > 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("mixing: {} with one community, which no edge can leave", options.mixing)};
  }
  return {};
}

}  // namespace

Result<GraphData> planted_graph(const GeneratorOptions& options) {
  RUDDER_ASSIGN(const std::int64_t count, edges_to_draw(options.nodes, options));
  RUDDER_TRY(check_planted(options));
  const Communities communities{static_cast<std::uint64_t>(options.nodes),
                                static_cast<std::uint64_t>(options.classes)};
  const std::vector<NodeId> ids = scrambled_ids(options.nodes, options.seed);
  EdgeList edges;
  edges.source.resize(static_cast<std::size_t>(count));
  edges.target.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    CounterRng random({options.seed, kPlantedEdges, i});
    const std::uint64_t place = random.below(communities.nodes);
    edges.source[i] = ids[place];
    edges.target[i] = ids[communities.partner(place, options.mixing, random)];
  }
  RUDDER_ASSIGN(GraphData data,
                graph_of(options.nodes, std::move(edges),
                         fmt::format("planted: {} nodes, edge factor {}, {} communities, mixing {}",
                                     options.nodes, options.edge_factor, options.classes, options.mixing),
                         options));
  data.classes = options.classes;
  data.labels.resize(ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    data.labels[static_cast<std::size_t>(ids[place])] = static_cast<std::int64_t>(communities.of(place));
  }
  add_community_features(data, options);
  if (options.multi_label) {
    give_several_classes(data, options.seed);
  }
  add_random_split(data, shares_of(options), options.seed);
  return data;
}

}  // namespace rudder::graph
