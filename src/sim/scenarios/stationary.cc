// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

constexpr std::uint32_t kSteps = 1280;
constexpr std::size_t kSeeds = 16;  // a batch

/// Training nodes drawn uniformly, a steady link: one setting is right for the whole run.
Result<Scenario> make(std::uint64_t seed) {
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create("chung-lu", skewed_graph(seed, 2.2), 4));
  Scenario scenario;
  scenario.name = "stationary";
  scenario.seed = seed;
  steer::KnobBounds bounds;
  bounds.policies = {"s3fifo", "lru", "lfu", "sieve"};
  bounds.depths = {4};
  bounds.prefetch_bytes_per_second = {0};
  bounds.slot_shares = {1};
  RUDDER_ASSIGN(scenario.actions, steer::knob_actions(bounds));
  world.describe(scenario);
  scenario.capacity = narrow<SlotId>(scenario.halo.size() / 10);
  add_phase(scenario, "all of it");
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    add_step(scenario, world.remote_rows(draw_seeds(0, world.own(), kSeeds, seed, step), {10, 5}, seed, step),
             usual_conditions(4e6));
  }
  return scenario;
}

}  // namespace

ScenarioInfo stationary_scenario() {
  return {"stationary", "control: nothing changes, one setting is right for all of it", &make};
}

}  // namespace rudder::sim
