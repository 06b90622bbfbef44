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
#include "rudder/sim/deciding.h"
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

/// The scenario without a buffer and without overlap: each batch's rows are fetched when the step before has
/// ended.
[[nodiscard]] SteeredRun run_without_buffer(const Scenario& scenario);
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
/// Of each window the action that costs least over it and the `horizon - 1` windows behind it, which are
/// tried under the fallback, from the state that the choices before left. Knows all accesses; greedy.
/// O(windows x actions x horizon x steps of a window).
[[nodiscard]] Result<SteeredRun> run_foresight(const Scenario& scenario, std::size_t horizon);

/// Where a run's seconds above the oracle's went, window by window, by why the action that held was not the
/// oracle's. They add up to the difference of the costs. A part may be negative: the oracle is a greedy one.
struct RegretParts {
  double unforeseen = 0;  ///< first windows of phases: nobody had seen the change yet
  double late = 0;        ///< the windows after, until the oracle's action held
  double decider = 0;     ///< chosen by a decision that was let through
  double evaluator = 0;   ///< chosen by the guard
  double cooling = 0;     ///< a change was refused, too soon after the last one
  double carried = 0;     ///< none of these: the oracle's action, but in a buffer that other actions left
  void add(const RegretParts& other, double factor) noexcept;
};
/// Seconds. Both runs are of the scenario.
[[nodiscard]] RegretParts regret_parts(const Scenario& scenario, const SteeredRun& run,
                                       const SteeredRun& oracle);

/// One row of `rudder steer eval`. Over seeds: means, and half the width of the 95 % interval of the mean
/// (Student's t).
struct EvalRow : Deciding {
  std::string scenario, decider;
  bool guarded = true;
  std::uint64_t seeds = 0;
  double cost = 0, cost_interval = 0;
  std::string best_fixed;  ///< action of least mean cost over the seeds
  double best_fixed_cost = 0, oracle_cost = 0;
  double regret_best_fixed = 0, regret_best_fixed_interval = 0;  ///< cost / best_fixed_cost - 1
  double regret_oracle = 0, regret_oracle_interval = 0;
  RegretParts parts;  ///< of regret_oracle, as shares of the oracle's cost
  /// Share of decisions, dropped ones too, for which no other action would have cost less.
  std::optional<double> best_choices;
  std::vector<SteeredRun> runs;  ///< one a seed
};

struct EvalOptions {
  std::vector<std::string> scenarios;      ///< empty: all
  std::vector<std::string> deciders;       ///< as make_decider() takes them
  bool guarded = true, unguarded = false;  ///< one row for each that is set
  /// Deciders that a scenario's action set has no words for, or that need what there is not, are left out of
  /// it and told of; else they are an error.
  bool leave_out_unfit = false;
  std::size_t seeds = 5;
  std::uint64_t first_seed = 1;
  SteerOptions steer;
  steer::DeciderContext context;  ///< but actions, seed and memory, which are the run's own
  std::size_t threads = 1;        ///< never changes a result but latencies
};

/// A decider that was not run on a scenario.
struct LeftOut {
  std::string scenario, decider, why;
};

/// What the rows of a scenario are compared with, for its first seed.
struct EvalWorld {
  std::string scenario, help, graph;
  std::uint64_t seed = 0;
  std::uint32_t window = 0;          ///< batches
  std::vector<std::string> actions;  ///< names
  std::vector<Phase> phases;
  SteeredRun best_fixed, oracle;
};

struct Evaluation {
  std::vector<EvalRow> rows;  ///< by scenario, then decider, guarded ones first
  std::vector<EvalWorld> worlds;
  std::vector<LeftOut> left_out;
};

/// `done` (may be empty) hears of each finished scenario's share of all scenarios and its name.
[[nodiscard]] Result<Evaluation> evaluate_deciders(const EvalOptions& options,
                                                   const std::function<void(double, std::string_view)>& done);

/// `options` without what stands between a decider and the run: every decision is applied that names an
/// action of the set and is not too late; no evaluator, no breaker. Without a decision the present action
/// goes on.
[[nodiscard]] SteerOptions without_guard(SteerOptions options);

}  // namespace rudder::sim
