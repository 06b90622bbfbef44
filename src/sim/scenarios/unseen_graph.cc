// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "sim/drifting.h"

namespace rudder::sim {
namespace {

constexpr std::string_view kName = "unseen_graph";

Result<Scenario> make(std::uint64_t seed) {
  return make_unlike(kName, seed);
}
Result<std::vector<Scenario>> lessons(std::uint64_t seed) {
  return lessons_unlike(kName, Unlike::kGraph, seed);
}

}  // namespace

ScenarioInfo unseen_graph_scenario() {
  return {kName, "drift; memory and classifiers know runs on other graphs only", &make, &lessons};
}

}  // namespace rudder::sim
