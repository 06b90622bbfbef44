// SPDX-License-Identifier: Apache-2.0
// Seeded recipes of what one trainer meets in a run: which rows its batches ask for, and what the world is
// like. Everything timed about them is simulated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/cost.h"
#include "rudder/steer/counterfactual.h"

namespace rudder::sim {

/// A stretch of steps in which nothing changes that a setting could answer.
struct Phase {
  StepId first = 0;
  std::string name;
};

struct Scenario {
  std::string name;
  std::uint64_t seed = 1;
  std::string graph;  ///< what the accesses come from, in words
  steer::ActionSet actions;
  std::uint32_t window = 16;                  ///< batches
  SlotId capacity = 0;                        ///< slots of the largest setting
  std::vector<std::vector<NodeId>> batches;   ///< distinct remote rows, ascending
  std::vector<steer::Conditions> conditions;  ///< parallel
  std::vector<std::uint8_t> training;         ///< parallel: 0 in evaluation
  std::vector<Phase> phases;                  ///< the first begins at step 0; all begin at a window's border
  bool schedule_known = false;                ///< whether settings may look ahead
  std::vector<NodeId> owners;                 ///< the partition book
  Rank rank = 0;                              ///< the trainer's, and its part's
  std::vector<NodeId> halo;                   ///< of the trainer's part
  std::vector<EdgeIndex> indptr;              ///< of the graph
  cache::PolicySettings settings;

  /// Spans of this scenario, which must stay where it is.
  [[nodiscard]] steer::SteeredShape shape() const;
  [[nodiscard]] std::size_t windows() const noexcept { return batches.size() / window; }
};

struct ScenarioInfo {
  std::string_view name;
  std::string_view help;
  /// Seconds at most; a pure function of the seed.
  Result<Scenario> (*make)(std::uint64_t seed) = nullptr;
  /// Runs that memory and classifiers have learned from before the scenario of that seed begins, which then
  /// adds nothing to them; of its action set. Null: none, and each run learns from itself alone.
  Result<std::vector<Scenario>> (*lessons)(std::uint64_t seed) = nullptr;
};

/// All scenarios, controls first. To add one, write src/sim/scenarios/NAME.cc with a function
/// `ScenarioInfo NAME_scenario()` and add NAME to the list in src/sim/scenario_table.cc.
[[nodiscard]] std::span<const ScenarioInfo> scenario_table();
/// An unknown name is an error with a near-miss hint.
[[nodiscard]] Result<const ScenarioInfo*> find_scenario(std::string_view name);

}  // namespace rudder::sim
