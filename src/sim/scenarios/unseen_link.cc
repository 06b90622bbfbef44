// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "sim/drifting.h"

namespace rudder::sim {
namespace {

constexpr std::string_view kName = "unseen_link";

Result<Scenario> make(std::uint64_t seed) {
  return make_unlike(kName, seed);
}
Result<std::vector<Scenario>> lessons(std::uint64_t seed) {
  return lessons_unlike(kName, Unlike::kLink, seed);
}

}  // namespace

ScenarioInfo unseen_link_scenario() {
  return {kName, "drift; memory and classifiers know runs over other links only", &make, &lessons};
}

}  // namespace rudder::sim
