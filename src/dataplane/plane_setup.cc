// SPDX-License-Identifier: Apache-2.0
#include "dataplane/plane_setup.h"

#include <algorithm>

#include <fmt/format.h>

namespace rudder::dataplane {
namespace {

constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20;
constexpr std::uint32_t kMaxCredits = 64;

}  // namespace

Status check_options(const graph::PartitionedGraph& graph, const PlaneOptions& options) {
  if (options.rank >= options.world) {
    return Error{Errc::kInvalidArgument, fmt::format("rank {} of {} ranks", options.rank, options.world)};
  }
  if (options.parts_each == 0 || graph.book().parts() != std::uint64_t{options.world} * options.parts_each) {
    return Error{Errc::kInvalidArgument, fmt::format("{} has {} parts, but there are {} ranks with {} each",
                                                     graph.directory().string(), graph.book().parts(),
                                                     options.world, options.parts_each)};
  }
  if (!graph.has_topology() && options.parts_each != 1) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: the structure of one part is open, but each rank has {} parts",
                             graph.directory().string(), options.parts_each)};
  }
  if (options.request_bytes == 0 || options.request_bytes > kMaxRequestBytes) {
    return Error{Errc::kInvalidArgument, fmt::format("requests of {} bytes; 1 to {} are possible",
                                                     options.request_bytes, kMaxRequestBytes)};
  }
  if (options.credits == 0 || options.credits > kMaxCredits) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} credits an owner; 1 to {} are possible", options.credits, kMaxCredits)};
  }
  const DType stored = graph.meta().dtype;
  if (options.wire && *options.wire != stored &&
      (stored != DType::kF32 || (*options.wire != DType::kF16 && *options.wire != DType::kBF16))) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: features of type {} do not travel as {}", graph.directory().string(),
                             name_of(stored), name_of(*options.wire))};
  }
  return {};
}

Hello make_hello(const graph::PartitionedGraph& graph, const PlaneOptions& options) {
  Hello hello;
  hello.graph_digest = graph.graph_digest();
  hello.partition_digest = graph.digest();
  hello.dtype = name_of(graph.meta().dtype);
  hello.row_bytes = graph.row_bytes();
  hello.world = options.world;
  hello.rank = options.rank;
  hello.host = options.host;
  hello.wire = name_of(options.wire.value_or(graph.meta().dtype));
  hello.topology = graph.has_topology() ? "replicated" : "owner";
  return hello;
}

graph::CscSlice own_slice(const graph::PartitionedGraph& graph, const PlaneOptions& options) {
  const PartId first = options.rank * options.parts_each;
  return graph.slice(first, first + options.parts_each - 1);
}

std::vector<std::uint32_t> degrees_of(const graph::CscSlice& own) {
  std::vector<std::uint32_t> degrees;
  degrees.reserve(static_cast<std::size_t>(own.csc.nodes()));
  for (NodeId v = own.begin; v < own.end(); ++v) {
    const auto neighbors = own.neighbors(v);
    const bool loop = std::binary_search(neighbors.begin(), neighbors.end(), v);
    degrees.push_back(narrow<std::uint32_t>(neighbors.size() - (loop ? 1U : 0U)));
  }
  return degrees;
}

std::string printable(std::span<const std::byte> body) {
  std::string text;
  for (const std::byte b : body) {
    const auto c = static_cast<char>(b);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

}  // namespace rudder::dataplane
