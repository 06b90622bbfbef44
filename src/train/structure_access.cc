// SPDX-License-Identifier: Apache-2.0
#include "train/structure_access.h"

#include <algorithm>
#include <numeric>

#include "rudder/dataplane/degrees.h"

#include "train/neighborhood.h"

namespace rudder::train {
namespace {

/// Nodes asked about in one go: bounds the memory of their ids.
constexpr NodeId kChunk = NodeId{1} << 20;

std::size_t at(NodeId v) {
  return static_cast<std::size_t>(v);
}

}  // namespace

Result<StructureAccess> StructureAccess::open(const graph::PartitionedGraph& graph, dataplane::Plane& plane,
                                              Rank rank, DegreeUse degrees) {
  StructureAccess out;
  out.plane_ = &plane;
  if (graph.has_topology()) {
    out.topology_ = graph.topology();
    return out;
  }
  out.remote_ = plane.remote_neighbors();
  if (degrees == DegreeUse::kAllNodes) {
    RUDDER_TRY(out.ask_all_degrees(graph, rank));
  }
  return out;
}

Status StructureAccess::ask_all_degrees(const graph::PartitionedGraph& graph, Rank rank) {
  const graph::CscSlice own = graph.slice(rank);
  const NodeId nodes = graph.meta().nodes;
  table_.resize(at(nodes));
  for (NodeId v = own.begin; v < own.end(); ++v) {
    const bool loop = std::ranges::binary_search(own.neighbors(v), v);
    table_[at(v)] = narrow<std::uint32_t>(own.degree(v) - (loop ? 1 : 0));
  }
  std::vector<NodeId> ids;
  for (const auto& [begin, end] : {std::pair{NodeId{0}, own.begin}, std::pair{own.end(), nodes}}) {
    for (NodeId first = begin; first < end; first += kChunk) {
      ids.resize(at(std::min(kChunk, end - first)));
      std::iota(ids.begin(), ids.end(), first);
      RUDDER_ASSIGN(const dataplane::AskedDegrees asked, dataplane::ask_degrees(*plane_, ids));
      std::ranges::copy(asked.degrees, table_.begin() + first);
      asked_ += asked.moved;
    }
  }
  return {};
}

Result<std::vector<std::uint32_t>> StructureAccess::halo_degrees(std::span<const NodeId> halo,
                                                                 const dataplane::BufferOptions& buffer) {
  if (remote_ == nullptr) {
    return std::vector<std::uint32_t>();
  }
  RUDDER_ASSIGN(const bool wanted, dataplane::wants_halo_degrees(buffer));
  if (!wanted) {
    return std::vector<std::uint32_t>();
  }
  RUDDER_ASSIGN(dataplane::AskedDegrees asked, dataplane::ask_degrees(*plane_, halo));
  asked_ += asked.moved;
  return std::move(asked.degrees);
}

void StructureAccess::degrees(std::span<const NodeId> nodes, std::vector<float>& out) const {
  if (remote_ == nullptr) {
    degrees_without_loops(topology_, nodes, out);
    return;
  }
  out.resize(nodes.size());
  std::ranges::transform(nodes, out.begin(), [&](NodeId v) { return static_cast<float>(table_[at(v)]); });
}

}  // namespace rudder::train
