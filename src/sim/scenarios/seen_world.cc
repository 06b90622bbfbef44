// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "sim/drifting.h"

namespace rudder::sim {
namespace {

constexpr std::string_view kName = "seen_world";

Result<Scenario> make(std::uint64_t seed) {
  return make_unlike(kName, seed);
}
Result<std::vector<Scenario>> lessons(std::uint64_t seed) {
  return lessons_unlike(kName, Unlike::kNothing, seed);
}

}  // namespace

ScenarioInfo seen_world_scenario() {
  return {kName, "drift; memory and classifiers know runs of other worlds and of this one", &make, &lessons};
}

}  // namespace rudder::sim
