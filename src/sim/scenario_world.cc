// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
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

graph::GeneratorOptions skewed_graph(std::uint64_t seed, double exponent) {
  graph::GeneratorOptions options;
  options.seed = seed;
  options.nodes = 16384;
  options.edge_factor = 8;
  options.exponent = exponent;
  options.features = 1;
  return options;
}

steer::Conditions usual_conditions(double link_bytes_per_second) {
  steer::Conditions conditions;
  conditions.compute_seconds = 0.010;
  conditions.gradient_bytes = 20e3;
  conditions.link_bytes_per_second = link_bytes_per_second;
  conditions.row_bytes = 516;
  conditions.round_trip_seconds = 200e-6;
  return conditions;
}

void add_step(Scenario& scenario, std::vector<NodeId> rows, const steer::Conditions& conditions,
              bool training) {
  scenario.batches.push_back(std::move(rows));
  scenario.conditions.push_back(conditions);
  scenario.training.push_back(training ? 1 : 0);
}

void add_phase(Scenario& scenario, std::string name) {
  RUDDER_CHECK(scenario.batches.size() % scenario.window == 0, "phases begin with windows");
  scenario.phases.push_back({scenario.batches.size(), std::move(name)});
}

Result<Scenario> make_bursts(const Bursts& bursts, std::uint64_t seed) {
  constexpr std::uint32_t kPhases = 4;
  constexpr std::size_t kFewSeeds = 2, kManySeeds = 128;  // a batch; one in eight is large
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create("chung-lu", skewed_graph(seed, 3.5), 4));
  Scenario scenario;
  scenario.name = bursts.name;
  scenario.seed = seed;
  steer::KnobBounds bounds;
  bounds.policies = {"lfu"};
  bounds.depths = {32};
  bounds.prefetch_bytes_per_second = {0};
  bounds.slot_shares = {0.5, 0.25, 0.75, 0.9};
  RUDDER_ASSIGN(scenario.actions, steer::knob_actions(bounds));
  world.describe(scenario);
  scenario.capacity = narrow<SlotId>(scenario.halo.size() / 2);
  std::uint32_t number = 0;
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    const bool odd = phase % 2 == 1;
    steer::Conditions conditions = usual_conditions(12.5e6);
    conditions.memory_rows = scenario.capacity;
    if (odd) {
      bursts.change(conditions);
    }
    add_phase(scenario, std::string(odd ? bursts.odd_phase : bursts.even_phase));
    for (std::uint32_t step = 0; step < (odd ? bursts.odd_steps : bursts.even_steps); ++step, ++number) {
      const std::size_t seeds = step % 8 == 7 ? kManySeeds : kFewSeeds;
      add_step(scenario,
               world.remote_rows(draw_seeds(0, world.own(), seeds, seed, number), {10, 5}, seed, number),
               conditions);
    }
  }
  return scenario;
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
