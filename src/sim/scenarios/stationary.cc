// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

constexpr std::size_t kSteps = 1600;
constexpr std::size_t kSeeds = 64;  // a batch

/// Training nodes drawn uniformly, a steady link: one setting is right for the whole run.
Result<Scenario> make(std::uint64_t seed) {
  graph::GeneratorOptions options;
  options.seed = seed;
  options.nodes = 16384;
  options.edge_factor = 8;
  options.features = 1;
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create("planted", options, 4));
  Scenario scenario;
  scenario.name = "stationary";
  scenario.seed = seed;
  scenario.actions = steer::replace_actions();
  world.describe(scenario);
  scenario.capacity = narrow<SlotId>(scenario.halo.size() / 4);
  steer::Conditions conditions;
  conditions.compute_seconds = 0.010;
  conditions.gradient_bytes = 200e3;
  conditions.link_bytes_per_second = 12.5e6;
  conditions.row_bytes = 412;
  conditions.round_trip_seconds = 200e-6;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    scenario.batches.push_back(
        world.remote_rows(draw_seeds(0, world.own(), kSeeds, seed, step), {10, 5}, seed, step));
    scenario.conditions.push_back(conditions);
    scenario.training.push_back(1);
  }
  scenario.phases = {{0, "all of it"}};
  return scenario;
}

}  // namespace

ScenarioInfo stationary_scenario() {
  return {"stationary", "control: nothing changes, one setting is right for all of it", &make};
}

}  // namespace rudder::sim
