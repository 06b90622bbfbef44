// SPDX-License-Identifier: Apache-2.0
#include "sim/drifting.h"
#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

Result<Scenario> make(std::uint64_t seed) {
  return make_drifting({.name = "drift", .graph = skewed_graph(seed, 2.2)}, seed);
}

}  // namespace

ScenarioInfo drift_scenario() {
  return {"drift", "the hot set stays for a while, then moves on and on; schedule unknown", &make};
}

}  // namespace rudder::sim
