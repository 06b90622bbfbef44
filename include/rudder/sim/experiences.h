// SPDX-License-Identifier: Apache-2.0
// Labelled windows out of simulations, to learn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sim/scenario.h"
#include "rudder/sim/steer_eval.h"
#include "rudder/steer/memory.h"

namespace rudder::sim {

/// Where windows come from, as experiences name it. Runs of one seed ask for the same rows, so they are one
/// run: it must not be learned from and scored.
struct Provenance {
  std::string run, graph;
};

/// The windows of one run a decider, one after another, none of which stands behind a guard, whatever the
/// options say: the more of the states are seen, the better.
[[nodiscard]] Result<std::vector<steer::Experience>> collect(const Scenario& scenario,
                                                             const Provenance& provenance,
                                                             const std::vector<std::string>& deciders,
                                                             const SteerOptions& options);

struct CollectOptions {
  std::vector<std::string> scenarios;  ///< whose action sets are one and the same
  std::vector<std::string> deciders = {"hedge", "bandit"};
  std::size_t seeds = 4;
  std::uint64_t first_seed = 1;
  std::size_t horizon = 4;  ///< windows of counterfactual replay
  std::size_t threads = 1;  ///< never changes a result
};

/// Of scenarios: the scenario stands for the graph, its seeds are the runs. In the order of scenarios, seeds
/// and deciders. `done` (may be empty) hears the share done, from one thread at a time. kInvalidArgument: an
/// unknown scenario or decider, scenarios of different action sets.
[[nodiscard]] Result<std::vector<steer::Experience>> collect_from_scenarios(
    const CollectOptions& options, const std::function<void(double)>& done);

}  // namespace rudder::sim
