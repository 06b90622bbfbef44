// SPDX-License-Identifier: Apache-2.0
// What a model makes of more and fewer retrieved windows, on windows of runs and graphs that it was not
// shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/sim/estimate.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/prompt.h"

namespace rudder::sim {

struct AblationOptions {
  std::vector<std::size_t> demonstrations = {0, 1, 3, 5, 9};
  std::size_t windows = 40;     ///< that are asked about, at most, of unseen runs and of each unseen graph
  double held_out_runs = 0.25;  ///< share of each graph's runs
  std::uint64_t seed = 1;
  steer::PromptOptions prompt;
  Duration timeout = from_seconds(10);  ///< of a call
  std::string job = "rudder";
};

/// One chooser with that many demonstrations. What is not answered, or not in the form, counts as the
/// fallback, as it does in a run.
struct AblationRow {
  std::string unseen;   ///< "runs", or the graph
  std::string chooser;  ///< llm; nearest: the vote of the same number of windows; fallback
  std::size_t demonstrations = 0;
  std::size_t windows = 0;
  Estimate accuracy = {};                   ///< share of the windows for which nothing would have cost less
  double regret_oracle = 0;                 ///< cost over that of the best action of each window, minus 1
  std::size_t unanswered = 0, refused = 0;  ///< calls without an answer; answers without a decision
  std::optional<double> latency_p50 = std::nullopt,
                        latency_p95 = std::nullopt;    ///< seconds of a call, measured
  std::optional<double> prompt_tokens = std::nullopt;  ///< on average
};

/// Rows by what is unseen, then number of demonstrations, then chooser. Windows of the action set, of two
/// runs at least; each graph is also left out once where there are several. A model that
/// answers none of a row's first three calls ends it all. `done` (may be empty) hears the share done.
[[nodiscard]] Result<std::vector<AblationRow>> ablate(std::span<const steer::Experience> windows,
                                                      const steer::ActionSet& actions, llm::Model& model,
                                                      const AblationOptions& options,
                                                      const std::function<void(double)>& done);

}  // namespace rudder::sim
