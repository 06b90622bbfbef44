// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "sim/drifting.h"

namespace rudder::sim {
namespace {

constexpr std::string_view kName = "unseen_buffer";

Result<Scenario> make(std::uint64_t seed) {
  return make_unlike(kName, seed);
}
Result<std::vector<Scenario>> lessons(std::uint64_t seed) {
  return lessons_unlike(kName, Unlike::kBuffer, seed);
}

}  // namespace

ScenarioInfo unseen_buffer_scenario() {
  return {kName, "drift; memory and classifiers know runs with other buffers only", &make, &lessons};
}

}  // namespace rudder::sim
