// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/core/rng.h"
#include "rudder/graph/partition.h"

#include "graph/generate_random.h"
#include "graph/partition_methods.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kHashStream = 0x70617274;
constexpr double kMaxImbalance = 10;

constexpr std::array<std::pair<std::string_view, PartitionMethod>, 5> kMethods{
    {{"metis", PartitionMethod::kMetis},
     {"ldg", PartitionMethod::kLdg},
     {"fennel", PartitionMethod::kFennel},
     {"hash", PartitionMethod::kHash},
     {"random", PartitionMethod::kRandom}}};

Status check_options(const GraphMeta& meta, const PartitionOptions& options, const std::string& where) {
  if (meta.nodes == 0) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: has no nodes to partition", where)};
  }
  if (options.parts == 0 || options.parts > kMaxParts) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("parts: {}, expected 1 to {}", options.parts, kMaxParts)};
  }
  if (static_cast<NodeId>(options.parts) > meta.nodes) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("parts: {} of the {} nodes of {}", options.parts, meta.nodes, where)};
  }
  if (!(options.imbalance >= 0 && options.imbalance <= kMaxImbalance)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("imbalance: {}, expected 0 to {}", options.imbalance, kMaxImbalance)};
  }
  return {};
}

Status check_memory(const GraphMeta& meta, const PartitionOptions& options) {
  const std::size_t needed = partition_memory_bytes(meta, options);
  const std::size_t limit = options.memory_limit > 0 ? options.memory_limit : available_memory_bytes();
  if (limit > 0 && needed > limit) {
    return Error{
        Errc::kResource,
        fmt::format("partitioning {} nodes and {} edges by {} needs about {} bytes "
                    "of memory, {} may be taken{}",
                    meta.nodes, meta.edges, name_of(options.method), needed, limit,
                    options.method == PartitionMethod::kMetis ? " (ldg and fennel need far less)" : "")};
  }
  return {};
}

}  // namespace

std::optional<PartitionMethod> partition_method_from_name(std::string_view name) noexcept {
  for (const auto& [known, method] : kMethods) {
    if (known == name) {
      return method;
    }
  }
  return std::nullopt;
}

std::string_view name_of(PartitionMethod method) noexcept {
  for (const auto& [name, known] : kMethods) {
    if (known == method) {
      return name;
    }
  }
  return "unknown";
}

std::size_t partition_memory_bytes(const GraphMeta& meta, const PartitionOptions& options) {
  const auto nodes = static_cast<std::size_t>(meta.nodes);
  // The assignment, then either what the method takes, or both id maps and the halo marks of the writer.
  const std::size_t assignment = nodes * sizeof(PartId);
  const std::size_t writing = nodes * (2 * sizeof(NodeId) + sizeof(PartId)) +
                              static_cast<std::size_t>(meta.max_degree) * sizeof(NodeId);
  std::size_t method = 0;
  switch (options.method) {
    case PartitionMethod::kMetis:
      method = options.parts > 1 ? metis_memory_bytes(meta.nodes, meta.edges) : 0;
      break;
    case PartitionMethod::kLdg:
    case PartitionMethod::kFennel:
    case PartitionMethod::kRandom:
      method = nodes * sizeof(NodeId);
      break;
    case PartitionMethod::kHash:
      break;
  }
  constexpr std::size_t kBuffers = std::size_t{8} << 20;
  return assignment + std::max(method, writing) + kBuffers;
}

std::vector<PartId> assign_hash(NodeId nodes, const PartitionOptions& options) {
  std::vector<PartId> part(static_cast<std::size_t>(nodes));
  for (std::size_t v = 0; v < part.size(); ++v) {
    CounterRng random({options.seed, kHashStream, v});
    part[v] = static_cast<PartId>(random.below(options.parts));
  }
  return part;
}

std::vector<PartId> assign_random(NodeId nodes, const PartitionOptions& options) {
  const std::vector<NodeId> order = scrambled_ids(nodes, options.seed);
  std::vector<PartId> part(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    part[static_cast<std::size_t>(order[i])] = static_cast<PartId>(i % options.parts);
  }
  return part;
}

Result<std::vector<PartId>> assign_parts(const Graph& graph, const PartitionOptions& options) {
  RUDDER_TRY(check_options(graph.meta(), options, graph.directory().string()));
  RUDDER_TRY(check_memory(graph.meta(), options));
  const NodeId nodes = graph.meta().nodes;
  switch (options.method) {
    case PartitionMethod::kMetis:
      return assign_metis(graph, options);
    case PartitionMethod::kLdg:
    case PartitionMethod::kFennel:
      return assign_streaming(graph.topology(), options);
    case PartitionMethod::kHash:
      return assign_hash(nodes, options);
    case PartitionMethod::kRandom:
      return assign_random(nodes, options);
  }
  return Error{Errc::kInvalidArgument, "unknown partitioning method"};
}

}  // namespace rudder::graph
