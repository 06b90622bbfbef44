// SPDX-License-Identifier: Apache-2.0
#include "train/neighborhood.h"

#include <algorithm>
#include <limits>

#include "rudder/core/check.h"

namespace rudder::train {
namespace {

constexpr LocalId kUnseen = std::numeric_limits<LocalId>::max();

std::size_t index(NodeId v) noexcept {
  return static_cast<std::size_t>(v);
}

}  // namespace

void degrees_without_loops(const graph::CscView& topology, std::span<const NodeId> nodes,
                           std::vector<float>& out) {
  out.resize(nodes.size());
  std::ranges::transform(nodes, out.begin(), [&](NodeId v) {
    const bool loop = std::ranges::binary_search(topology.neighbors(v), v);
    return static_cast<float>(topology.degree(v) - (loop ? 1 : 0));
  });
}

NeighborhoodBuilder::NeighborhoodBuilder(const graph::CscSlice& own, NodeId nodes)
    : own_(own), place_(index(nodes), kUnseen) {}

bool NeighborhoodBuilder::visit(NodeId v, std::vector<NodeId>& visited) {
  LocalId& place = place_[index(v)];
  if (place != kUnseen) {
    return false;
  }
  place = 0;
  visited.push_back(v);
  return true;
}

std::size_t NeighborhoodBuilder::build(std::span<const NodeId> destinations, std::size_t most_nodes,
                                       Neighborhood& out) {
  RUDDER_CHECK(!destinations.empty(), "a neighbourhood has a destination");
  std::vector<NodeId> visited;
  std::size_t taken = 0;
  for (; taken < destinations.size(); ++taken) {
    const std::size_t before = visited.size();
    visit(destinations[taken], visited);
    for (const NodeId s : own_.neighbors(destinations[taken])) {
      visit(s, visited);
    }
    if (taken > 0 && visited.size() > most_nodes) {
      for (; visited.size() > before; visited.pop_back()) {
        place_[index(visited.back())] = kUnseen;
      }
      break;
    }
  }
  out.nodes.assign(destinations.begin(), destinations.begin() + static_cast<std::ptrdiff_t>(taken));
  out.destinations = taken;
  std::ranges::sort(visited);
  const auto is_destination = [&](NodeId v) {
    return std::ranges::binary_search(destinations.first(taken), v);
  };
  const auto is_remote = [&](NodeId v) { return !own_.owns(v); };
  std::ranges::copy_if(visited, std::back_inserter(out.nodes), is_remote);
  out.remote = out.nodes.size() - taken;
  std::ranges::copy_if(visited, std::back_inserter(out.nodes),
                       [&](NodeId v) { return !is_remote(v) && !is_destination(v); });
  for (std::size_t i = 0; i < out.nodes.size(); ++i) {
    place_[index(out.nodes[i])] = narrow<LocalId>(i);
  }
  out.mfg.destinations = narrow<LocalId>(taken);
  out.mfg.sources = narrow<LocalId>(out.nodes.size());
  out.mfg.indptr.assign(1, 0);
  out.mfg.indices.clear();
  for (const NodeId d : destinations.first(taken)) {
    for (const NodeId s : own_.neighbors(d)) {
      out.mfg.indices.push_back(place_[index(s)]);
    }
    out.mfg.indptr.push_back(narrow<std::uint32_t>(out.mfg.indices.size()));
  }
  for (const NodeId v : visited) {
    place_[index(v)] = kUnseen;
  }
  return taken;
}

}  // namespace rudder::train
