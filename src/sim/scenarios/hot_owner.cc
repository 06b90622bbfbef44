// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

void change(steer::Conditions& conditions) {
  const double rate = conditions.link_bytes_per_second;
  conditions.owner_bytes_per_second = {rate, rate, 1.2e6, rate};
}

Result<Scenario> make(std::uint64_t seed) {
  return make_bursts({.name = "hot_owner",
                      .even_steps = 480,
                      .odd_steps = 160,
                      .change = &change,
                      .even_phase = "all owners answer",
                      .odd_phase = "owner 2 is a hot spot"},
                     seed);
}

}  // namespace

ScenarioInfo hot_owner_scenario() {
  return {"hot_owner", "one owner becomes a hot spot and answers at a fraction of its rate", &make};
}

}  // namespace rudder::sim
