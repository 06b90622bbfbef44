// SPDX-License-Identifier: Apache-2.0
// What deciders are worth: every decider on every scenario, beside the best fixed setting in hindsight and
// the oracle that knows the phases. Costs are simulated step time; decisions by models are real calls, whose
// latency delays them in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sim/scenario.h"
#include "rudder/steer/controller.h"
#include "rudder/steer/decider.h"

namespace rudder::sim {

/// One whole run of a scenario.
struct SteeredRun {
  double cost = 0;                   ///< seconds over all steps
  std::vector<double> by_window;     ///< seconds
  std::vector<std::size_t> actions;  ///< that held, by window
  std::vector<steer::DecisionRecord> records;
  std::vector<steer::LabelledWindow> labels;
  steer::ControllerTotals totals;
  std::uint64_t requests = 0, hits = 0, fetched = 0;
};

struct SteerOptions {
  steer::ControllerOptions controller;
  std::size_t horizon = 4;  ///< windows of counterfactual replay
  bool synchronous =
      false;  ///< windows wait for decisions, and the wait costs; else they come when they come
};

/// The scenario under one setting for ever.
[[nodiscard]] Result<SteeredRun> run_fixed(const Scenario& scenario, std::size_t action);
/// Under settings chosen window by window.
[[nodiscard]] Result<SteeredRun> run_plan(const Scenario& scenario, const std::vector<std::size_t>& actions);
/// Steered by a decider behind the whole guard.
[[nodiscard]] Result<SteeredRun> run_steered(const Scenario& scenario, steer::Decider& decider,
                                             steer::Memory* memory, const SteerOptions& options);
/// The best setting of each phase, found by trying all of them in each phase from the state that the best of
/// the phases before left: a greedy bound that knows the phases. O(phases x actions x steps of a phase).
[[nodiscard]] Result<SteeredRun> run_oracle(const Scenario& scenario);

/// One row of `rudder steer eval`. Over seeds: means, and half the width of the 95 % interval of the mean
/// (Student's t).
struct EvalRow {
  std::string scenario, decider;
  std::uint64_t seeds = 0;
  double cost = 0, cost_interval = 0;
  std::string best_fixed;  ///< action of least mean cost over the seeds
  double best_fixed_cost = 0, oracle_cost = 0;
  double regret_best_fixed = 0, regret_best_fixed_interval = 0;  ///< cost / best_fixed_cost - 1
  double regret_oracle = 0, regret_oracle_interval = 0;
  std::optional<double> valid_rate;           ///< of a model's replies
  std::optional<double> first_try_direction;  ///< valid at first try and the direction foreseen came true
  std::uint64_t decisions = 0, model_calls = 0, dropped = 0;
  std::optional<double> latency_p50, latency_p95;  ///< seconds of a decision, measured
  std::vector<SteeredRun> runs;                    ///< one a seed
};

struct EvalOptions {
  std::vector<std::string> scenarios;  ///< empty: all
  std::vector<std::string> deciders;   ///< as make_decider() takes them
  std::size_t seeds = 5;
  std::uint64_t first_seed = 1;
  SteerOptions steer;
  steer::DeciderContext context;  ///< but actions, seed and memory, which are the run's own
  std::size_t threads = 1;        ///< never changes a result but latencies
};

/// Rows by scenario, then decider. `done` (may be empty) hears of each finished row.
[[nodiscard]] Result<std::vector<EvalRow>> evaluate_deciders(const EvalOptions& options,
                                                             const std::function<void(const EvalRow&)>& done);

}  // namespace rudder::sim
