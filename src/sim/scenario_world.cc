// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/sampler.h"

namespace rudder::sim {

Result<ScenarioWorld> ScenarioWorld::create(std::string_view generator,
                                            const graph::GeneratorOptions& options, std::size_t parts) {
  RUDDER_ASSIGN(const graph::GraphData data, graph::generate_graph(generator, options));
  const std::size_t nodes = data.labels.size();
  std::vector<NodeId> order(nodes);
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return data.labels[static_cast<std::size_t>(a)] < data.labels[static_cast<std::size_t>(b)];
  });
  std::vector<NodeId> place(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<NodeId>(i);
  }
  ScenarioWorld world;
  world.name_ = fmt::format("{} with {} nodes and {} edges, seed {}", generator, nodes,
                            data.indices.size() / 2, options.seed);
  world.indptr_.push_back(0);
  for (const NodeId old : order) {
    const auto i = static_cast<std::size_t>(old);
    for (EdgeIndex edge = data.indptr[i]; edge < data.indptr[i + 1]; ++edge) {
      world.indices_.push_back(place[static_cast<std::size_t>(data.indices[static_cast<std::size_t>(edge)])]);
    }
    std::sort(world.indices_.begin() + world.indptr_.back(), world.indices_.end());
    world.indptr_.push_back(static_cast<EdgeIndex>(world.indices_.size()));
    world.labels_.push_back(data.labels[i]);
  }
  for (std::size_t part = 0; part <= parts; ++part) {
    world.owners_.push_back(static_cast<NodeId>(nodes * part / parts));
  }
  return world;
}

std::vector<NodeId> ScenarioWorld::remote_rows(std::span<const NodeId> seeds, const std::vector<int>& fanout,
                                               std::uint64_t seed, std::uint32_t number) const {
  sample::NeighborSampler sampler({indptr_, indices_}, fanout, seed);
  sample::SampledBatch batch;
  sampler.sample(seeds, {0, number, 0}, number, batch);
  std::vector<NodeId> remote;
  std::copy_if(batch.nodes.begin(), batch.nodes.end(), std::back_inserter(remote),
               [&](NodeId node) { return node >= own(); });
  std::sort(remote.begin(), remote.end());
  return remote;
}

void ScenarioWorld::describe(Scenario& scenario) const {
  scenario.graph = name_;
  scenario.owners = owners_;
  scenario.indptr = indptr_;
  const auto own_nodes = static_cast<std::size_t>(own());
  const graph::CscSlice slice{0, {std::span(indptr_).first(own_nodes + 1), indices_}};
  scenario.halo = graph::halo_of(slice, nodes());
}

std::vector<NodeId> draw_seeds(NodeId begin, NodeId end, std::size_t count, std::uint64_t seed,
                               std::uint64_t number) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(std::max<NodeId>(0, end - begin)));
  std::iota(nodes.begin(), nodes.end(), begin);
  count = std::min(count, nodes.size());
  CounterRng rng({seed, number, 0x7365656473});
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(nodes[i], nodes[i + static_cast<std::size_t>(rng.below(nodes.size() - i))]);
  }
  nodes.resize(count);
  return nodes;
}

}  // namespace rudder::sim
