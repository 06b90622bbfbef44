// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"
#include "rudder/sim/scenario.h"

// One line a scenario, in the order of the documentation. NAME stands for `ScenarioInfo NAME_scenario()`,
// which scenarios/NAME.cc defines.
#define RUDDER_SCENARIOS(SCENARIO) \
  SCENARIO(stationary)             \
  SCENARIO(drift)                  \
  SCENARIO(shrinking_link)         \
  SCENARIO(memory)                 \
  SCENARIO(evaluation)             \
  SCENARIO(hot_owner)              \
  SCENARIO(seen_world)             \
  SCENARIO(unseen_graph)           \
  SCENARIO(unseen_buffer)          \
  SCENARIO(unseen_link)

namespace rudder::sim {

#define RUDDER_DECLARE(NAME) ScenarioInfo NAME##_scenario();
RUDDER_SCENARIOS(RUDDER_DECLARE)
#undef RUDDER_DECLARE

std::span<const ScenarioInfo> scenario_table() {
#define RUDDER_ENTRY(NAME) NAME##_scenario(),
  static const std::array table{RUDDER_SCENARIOS(RUDDER_ENTRY)};
#undef RUDDER_ENTRY
  return table;
}

Result<const ScenarioInfo*> find_scenario(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ScenarioInfo& info : scenario_table()) {
    if (info.name == name) {
      return &info;
    }
    names.push_back(info.name);
  }
  const std::string near = nearest_name(name, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("unknown scenario '{}' ({})", name,
                           near.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                                        : "did you mean '" + near + "'?")};
}

steer::SteeredShape Scenario::shape() const {
  steer::SteeredShape shape;
  shape.context.capacity = capacity;
  shape.context.steps = batches.size();
  shape.context.steps_per_epoch = window;
  shape.context.seed = cache::policy_seed(seed, owners[rank]);
  shape.context.owned_begin = owners[rank];
  shape.context.owned_end = owners[rank + 1];
  shape.context.halo = halo;
  shape.context.indptr = indptr;
  shape.settings = settings;
  shape.owners = owners;
  return shape;
}

}  // namespace rudder::sim
