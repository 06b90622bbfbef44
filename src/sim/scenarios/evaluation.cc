// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

constexpr std::uint32_t kRounds = 4;
constexpr std::uint32_t kPhaseSteps = 128;
constexpr std::size_t kSeeds = 16;  // a batch
constexpr NodeId kTrained = 48;     // nodes that are trained on

/// Training on few nodes alternates with evaluation, which passes over all others once.
Result<Scenario> make(std::uint64_t seed) {
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create("chung-lu", skewed_graph(seed, 3.5), 4));
  Scenario scenario;
  scenario.name = "evaluation";
  scenario.seed = seed;
  scenario.actions = steer::replace_actions();
  scenario.settings.score_stale_after = 8;
  world.describe(scenario);
  scenario.capacity = narrow<SlotId>(scenario.halo.size() / 5);
  std::uint32_t number = 0;
  const auto width = static_cast<NodeId>(kSeeds);
  for (std::uint32_t phase = 0; phase < 2 * kRounds; ++phase) {
    const bool training = phase % 2 == 0;
    add_phase(scenario, training ? "training" : "evaluation");
    for (std::uint32_t step = 0; step < kPhaseSteps; ++step, ++number) {
      const NodeId first = training ? 0 : kTrained + NodeId{step} * width % (world.own() - kTrained - width);
      const NodeId end = training ? kTrained : first + width;
      add_step(scenario,
               world.remote_rows(draw_seeds(first, end, kSeeds, seed, number), {10, 5}, seed, number),
               usual_conditions(4e6), training);
    }
  }
  return scenario;
}

}  // namespace

ScenarioInfo evaluation_scenario() {
  return {"evaluation", "training and evaluation alternate with different seeds", &make};
}

}  // namespace rudder::sim
