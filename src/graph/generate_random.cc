// SPDX-License-Identifier: Apache-2.0
#include "graph/generate_random.h"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/core/rng.h"

#include "graph/seeded.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kScrambleStream = 0x7363726d;
constexpr NodeId kMaxNodes = NodeId{1} << 32;
constexpr double kMaxEdges = 0x1p40;

}  // namespace

std::vector<NodeId> scrambled_ids(NodeId count, std::uint64_t seed) {
  std::vector<NodeId> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), NodeId{0});
  CounterRng random({seed, kScrambleStream});
  for (std::size_t i = ids.size(); i > 1; --i) {
    std::swap(ids[i - 1], ids[random.below(i)]);
  }
  return ids;
}

Result<std::int64_t> edges_to_draw(NodeId nodes, const GeneratorOptions& options) {
  RUDDER_TRY(check_columns(options.features));
  if (nodes < 1 || nodes > kMaxNodes) {
    return Error{Errc::kInvalidArgument, fmt::format("nodes: {}, expected 1 to {}", nodes, kMaxNodes)};
  }
  if (options.classes < 1 || options.classes > kMaxClasses) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("classes: {}, expected 1 to {}", options.classes, kMaxClasses)};
  }
  if (!(options.train_share >= 0 && options.train_share <= 1)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("train_share: {}, expected 0 to 1", options.train_share)};
  }
  const double edges = std::floor(options.edge_factor * static_cast<double>(nodes));
  if (!(edges >= 0 && edges <= kMaxEdges)) {
    return Error{Errc::kInvalidArgument, fmt::format("edge_factor: {} gives {} edges, expected 0 to 2^40",
                                                     options.edge_factor, edges)};
  }
  // Building the structure takes up to 80 bytes an edge drawn, which is freed before the rows are made.
  const double node_bytes = 64 + 4 * static_cast<double>(options.features);
  const double bytes = 80 * edges + node_bytes * static_cast<double>(nodes);
  const std::size_t available = available_memory_bytes();
  if (available > 0 && bytes > static_cast<double>(available)) {
    return Error{Errc::kResource,
                 fmt::format("a graph of {} nodes, {:.0f} edges and {} features needs {:.0f} "
                             "bytes of memory, {} are available",
                             nodes, edges, options.features, bytes, available)};
  }
  return static_cast<std::int64_t>(edges);
}

Result<GraphData> graph_of(NodeId nodes, EdgeList edges, std::string source,
                           const GeneratorOptions& options) {
  GraphData data;
  data.origin = {{"source", std::move(source)},
                 {"seed", std::to_string(options.seed)},
                 {"edges_drawn", std::to_string(edges.source.size())},
                 {"symmetrised", "true"}};
  DropReport report;
  RUDDER_ASSIGN(Csc csc, build_csc(nodes, std::move(edges), Direction::kUndirected, report));
  data.indptr = std::move(csc.indptr);
  data.indices = std::move(csc.indices);
  report.append_to(data.origin);
  return data;
}

SplitShares shares_of(const GeneratorOptions& options) {
  return {options.train_share, (1 - options.train_share) / 2};
}

}  // namespace rudder::graph
