// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

constexpr std::uint32_t kPhases = 4;
constexpr std::uint32_t kPhaseSteps = 320;
constexpr std::size_t kSeeds = 16;           // a batch
constexpr NodeId kWide = 512, kNarrow = 16;  // nodes that seeds come from in even and odd phases
constexpr std::uint32_t kMoveEvery = 96;     // steps, in odd phases

/// An active sampler whose schedule nobody knows: it stays with a wide set of nodes for a while, in which the
/// rows that all of them share are worth keeping for good, then works through narrow sets one after another.
Result<Scenario> make(std::uint64_t seed) {
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create("chung-lu", skewed_graph(seed, 2.2), 4));
  Scenario scenario;
  scenario.name = "drift";
  scenario.seed = seed;
  scenario.actions = steer::replace_actions();
  scenario.settings.score_stale_after = 4;
  world.describe(scenario);
  scenario.capacity = narrow<SlotId>(scenario.halo.size() / 10);
  std::uint32_t number = 0;
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    const bool moving = phase % 2 == 1;
    add_phase(scenario, moving ? "moving" : "staying");
    for (std::uint32_t step = 0; step < kPhaseSteps; ++step, ++number) {
      const NodeId width = moving ? kNarrow : kWide;
      const NodeId place = moving ? static_cast<NodeId>(number / kMoveEvery) * kNarrow : phase * 4 * kWide;
      const NodeId first = place % (world.own() - width);
      add_step(
          scenario,
          world.remote_rows(draw_seeds(first, first + width, kSeeds, seed, number), {10, 5}, seed, number),
          usual_conditions(4e6));
    }
  }
  return scenario;
}

}  // namespace

ScenarioInfo drift_scenario() {
  return {"drift", "the hot set stays for a while, then moves on and on; schedule unknown", &make};
}

}  // namespace rudder::sim
