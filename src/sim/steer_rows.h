// SPDX-License-Identifier: Apache-2.0
// Rows of an evaluation out of its runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rudder/sim/steer_eval.h"

namespace rudder::sim {

/// One decider on one seed, with or without its guard.
struct DeciderRun {
  SteeredRun run;
  RegretParts parts;       ///< seconds
  std::string unfit = {};  ///< why it was left out, and there is no run
};

/// One seed of one scenario: its bounds and every decider's run.
struct SeedRuns {
  EvalWorld world;                ///< but the best fixed run
  std::vector<SteeredRun> fixed;  ///< by action
  std::vector<DeciderRun> runs;   ///< in one order for all seeds
};

/// The action of least mean cost.
[[nodiscard]] std::size_t best_fixed(const std::vector<SeedRuns>& seeds);
/// The row of run `number` of each seed, all of them fit.
[[nodiscard]] EvalRow make_row(const std::vector<SeedRuns>& seeds, std::size_t number);

}  // namespace rudder::sim
