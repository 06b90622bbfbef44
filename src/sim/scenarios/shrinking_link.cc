// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

void change(steer::Conditions& conditions) {
  conditions.link_bytes_per_second /= 4;
}

Result<Scenario> make(std::uint64_t seed) {
  return make_bursts({.name = "shrinking_link",
                      .even_steps = 480,
                      .odd_steps = 160,
                      .change = &change,
                      .even_phase = "all of the link",
                      .odd_phase = "a quarter of the link"},
                     seed);
}

}  // namespace

ScenarioInfo shrinking_link_scenario() {
  return {"shrinking_link",
          "the link falls to a quarter and recovers, shared with all-reduce; batches come in bursts", &make};
}

}  // namespace rudder::sim
