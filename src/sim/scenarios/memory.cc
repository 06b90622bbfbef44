// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

void change(steer::Conditions& conditions) {
  conditions.memory_rows /= 2;
}

Result<Scenario> make(std::uint64_t seed) {
  return make_bursts({.name = "memory",
                      .even_steps = 320,
                      .odd_steps = 320,
                      .change = &change,
                      .even_phase = "all of the memory",
                      .odd_phase = "half of the memory"},
                     seed);
}

}  // namespace

ScenarioInfo memory_scenario() {
  return {"memory", "half of the memory for kept and waiting rows goes and comes back", &make};
}

}  // namespace rudder::sim
