// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/steer_eval.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/steer/memory.h"

#include "sim/lessons.h"
#include "sim/steer_rows.h"
#include "sim/tasks.h"

namespace rudder::sim {
namespace {

/// One decider with or without its guard: a row.
struct Candidate {
  std::string decider;
  bool guarded;
};

std::vector<Candidate> candidates_of(const EvalOptions& options) {
  std::vector<Candidate> candidates;
  for (const std::string& decider : options.deciders) {
    for (const bool guarded : {true, false}) {
      if (guarded ? options.guarded : options.unguarded) {
        candidates.push_back({decider, guarded});
      }
    }
  }
  return candidates;
}

/// A run of its own seed, decider and memory.
Result<DeciderRun> run_candidate(const Scenario& scenario, const Lessons& lessons, const Candidate& candidate,
                                 const SteeredRun& oracle, const EvalOptions& options) {
  RUDDER_ASSIGN(const std::unique_ptr<steer::Memory> memory, lessons.memory());
  steer::DeciderContext context = options.context;
  context.actions = &scenario.actions;
  context.seed = scenario.seed;
  context.memory = memory.get();
  RUDDER_TRY(lessons.teach(candidate.decider, context));
  const Result<std::unique_ptr<steer::Decider>> decider = steer::make_decider(candidate.decider, context);
  if (!decider.ok() && options.leave_out_unfit && decider.error().code == Errc::kInvalidArgument) {
    return DeciderRun{{}, {}, decider.error().message};
  }
  if (!decider.ok()) {
    return decider.error();
  }
  SteerOptions steered = candidate.guarded ? options.steer : without_guard(options.steer);
  steered.controller.run = fmt::format("{}-{}", scenario.name, scenario.seed);
  steered.controller.graph = scenario.graph;
  RUDDER_ASSIGN(SteeredRun run,
                run_steered(scenario, **decider, lessons.given() ? nullptr : memory.get(), steered));
  const RegretParts parts = regret_parts(scenario, run, oracle);
  return DeciderRun{std::move(run), parts, {}};
}

EvalWorld world_of(const Scenario& scenario, const ScenarioInfo& info) {
  EvalWorld world;
  world.scenario = info.name;
  world.help = info.help;
  world.graph = scenario.graph;
  world.seed = scenario.seed;
  world.window = scenario.window;
  world.phases = scenario.phases;
  for (const steer::Action& action : scenario.actions.actions) {
    world.actions.push_back(action.name);
  }
  return world;
}

Result<SeedRuns> run_seed(const ScenarioInfo& info, std::uint64_t seed, const EvalOptions& options) {
  RUDDER_ASSIGN(const Scenario scenario, info.make(seed));
  RUDDER_ASSIGN(const Lessons lessons, Lessons::of(info, scenario, options.steer));
  SeedRuns runs;
  runs.world = world_of(scenario, info);
  for (std::size_t action = 0; action < scenario.actions.actions.size(); ++action) {
    RUDDER_ASSIGN(SteeredRun fixed, run_fixed(scenario, action));
    runs.fixed.push_back(std::move(fixed));
  }
  RUDDER_ASSIGN(runs.world.oracle, run_oracle(scenario));
  for (const Candidate& candidate : candidates_of(options)) {
    RUDDER_ASSIGN(DeciderRun run, run_candidate(scenario, lessons, candidate, runs.world.oracle, options));
    runs.runs.push_back(std::move(run));
  }
  return runs;
}

Result<std::vector<SeedRuns>> run_seeds(const ScenarioInfo& info, const EvalOptions& options) {
  std::vector<SeedRuns> seeds(options.seeds);
  const Status done = run_tasks(options.seeds, options.threads, "rudder-eval", [&](std::size_t i) -> Status {
    RUDDER_ASSIGN(seeds[i], run_seed(info, options.first_seed + i, options));
    return {};
  });
  if (!done.ok()) {
    return done.error().in(fmt::format("scenario {}", info.name));
  }
  return seeds;
}

Result<std::vector<const ScenarioInfo*>> scenarios_of(const EvalOptions& options) {
  std::vector<const ScenarioInfo*> scenarios;
  for (const std::string& name : options.scenarios) {
    RUDDER_ASSIGN(const ScenarioInfo* const info, find_scenario(name));
    scenarios.push_back(info);
  }
  if (scenarios.empty()) {
    for (const ScenarioInfo& info : scenario_table()) {
      scenarios.push_back(&info);
    }
  }
  return scenarios;
}

void add_scenario(std::vector<SeedRuns> seeds, const EvalOptions& options, Evaluation& result) {
  const std::vector<Candidate> candidates = candidates_of(options);
  for (std::size_t number = 0; number < candidates.size(); ++number) {
    // Whether a decider fits depends on the action set, which is the same for all seeds.
    const std::string& unfit = seeds.front().runs[number].unfit;
    if (!unfit.empty()) {
      result.left_out.push_back({seeds.front().world.scenario, candidates[number].decider, unfit});
      continue;
    }
    result.rows.push_back(make_row(seeds, number));
    result.rows.back().decider = candidates[number].decider;
    result.rows.back().guarded = candidates[number].guarded;
  }
  EvalWorld world = std::move(seeds.front().world);
  world.best_fixed = std::move(seeds.front().fixed[best_fixed(seeds)]);
  result.worlds.push_back(std::move(world));
}

}  // namespace

SteerOptions without_guard(SteerOptions options) {
  options.controller.guard.tolerated_excess = -1;
  options.controller.breaker.failures = std::numeric_limits<std::uint32_t>::max();
  options.controller.breaker.dropped = std::numeric_limits<std::uint32_t>::max();
  return options;
}

Result<Evaluation> evaluate_deciders(const EvalOptions& options,
                                     const std::function<void(double, std::string_view)>& done) {
  if (options.seeds == 0 || candidates_of(options).empty()) {
    return Error{Errc::kInvalidArgument, "an evaluation needs a seed and a decider"};
  }
  RUDDER_ASSIGN(const std::vector<const ScenarioInfo*> scenarios, scenarios_of(options));
  Evaluation result;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    RUDDER_ASSIGN(std::vector<SeedRuns> seeds, run_seeds(*scenarios[i], options));
    add_scenario(std::move(seeds), options, result);
    if (done) {
      done(static_cast<double>(i + 1) / static_cast<double>(scenarios.size()), scenarios[i]->name);
    }
  }
  return result;
}

}  // namespace rudder::sim
