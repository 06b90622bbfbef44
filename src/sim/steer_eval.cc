// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/steer_eval.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"

namespace rudder::sim {
namespace {

/// A mean and half the width of its 95 % interval.
struct Estimate {
  double mean = 0, half_width = 0;
};

/// Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond, the normal distribution's.
double student_t(std::size_t freedom) {
  static constexpr std::array<double, 30> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                                    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                                    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                                    2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom <= kTable.size() ? kTable[freedom - 1] : 1.96;
}

Estimate estimate(const std::vector<double>& values) {
  Estimate result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    result.mean += value / count;
  }
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) {
      squares += (value - result.mean) * (value - result.mean);
    }
    result.half_width = student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  }
  return result;
}

/// One seed of one scenario: its bounds and every decider's run.
struct SeedRuns {
  std::vector<double> fixed;  ///< cost by action
  double oracle = 0;
  std::vector<std::string> actions;  ///< their names
  std::vector<SteeredRun> deciders;
};

Result<SeedRuns> run_seed(const ScenarioInfo& info, std::uint64_t seed, const EvalOptions& options) {
  RUDDER_ASSIGN(const Scenario scenario, info.make(seed));
  SeedRuns runs;
  for (std::size_t action = 0; action < scenario.actions.actions.size(); ++action) {
    RUDDER_ASSIGN(const SteeredRun fixed, run_fixed(scenario, action));
    runs.fixed.push_back(fixed.cost);
    runs.actions.push_back(scenario.actions.actions[action].name);
  }
  RUDDER_ASSIGN(const SteeredRun oracle, run_oracle(scenario));
  runs.oracle = oracle.cost;
  for (const std::string& name : options.deciders) {
    RUDDER_ASSIGN(const std::unique_ptr<steer::Memory> memory, steer::Memory::open({}));
    steer::DeciderContext context = options.context;
    context.actions = &scenario.actions;
    context.seed = seed;
    context.memory = memory.get();
    RUDDER_ASSIGN(const std::unique_ptr<steer::Decider> decider, steer::make_decider(name, context));
    SteerOptions steered = options.steer;
    steered.controller.run = fmt::format("{}-{}", info.name, seed);
    steered.controller.graph = scenario.graph;
    RUDDER_ASSIGN(SteeredRun run, run_steered(scenario, *decider, memory.get(), steered));
    runs.deciders.push_back(std::move(run));
  }
  return runs;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void add_totals(const std::vector<SteeredRun>& runs, EvalRow& row) {
  std::uint64_t valid = 0, predictions = 0, right = 0;
  std::vector<double> latencies;
  for (const SteeredRun& run : runs) {
    row.decisions += run.totals.decisions;
    row.model_calls += run.totals.model_calls;
    row.dropped += run.totals.dropped;
    valid += run.totals.valid_replies;
    predictions += run.totals.predictions;
    right += run.totals.right_directions;
    latencies.insert(latencies.end(), run.totals.latencies.begin(), run.totals.latencies.end());
  }
  if (row.model_calls > 0) {
    row.valid_rate = static_cast<double>(valid) / static_cast<double>(row.model_calls);
  }
  if (predictions > 0) {
    row.first_try_direction = static_cast<double>(right) / static_cast<double>(predictions);
  }
  if (!latencies.empty()) {
    row.latency_p50 = quantile(latencies, 0.5);
    row.latency_p95 = quantile(latencies, 0.95);
  }
}

/// The action of least mean cost.
std::size_t best_fixed(const std::vector<SeedRuns>& seeds) {
  std::vector<double> sums(seeds.front().fixed.size(), 0);
  for (const SeedRuns& seed : seeds) {
    for (std::size_t action = 0; action < sums.size(); ++action) {
      sums[action] += seed.fixed[action];
    }
  }
  return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

EvalRow make_row(const ScenarioInfo& info, const std::vector<SeedRuns>& seeds, const std::string& name,
                 std::size_t decider) {
  const std::size_t best = best_fixed(seeds);
  std::vector<double> costs, fixed, oracles, over_fixed, over_oracle;
  EvalRow row;
  for (const SeedRuns& seed : seeds) {
    const SteeredRun& run = seed.deciders[decider];
    costs.push_back(run.cost);
    fixed.push_back(seed.fixed[best]);
    oracles.push_back(seed.oracle);
    over_fixed.push_back(run.cost / seed.fixed[best] - 1);
    over_oracle.push_back(run.cost / seed.oracle - 1);
    row.runs.push_back(run);
  }
  row.scenario = info.name;
  row.decider = name;
  row.seeds = seeds.size();
  row.cost = estimate(costs).mean;
  row.cost_interval = estimate(costs).half_width;
  row.best_fixed = seeds.front().actions[best];
  row.best_fixed_cost = estimate(fixed).mean;
  row.oracle_cost = estimate(oracles).mean;
  row.regret_best_fixed = estimate(over_fixed).mean;
  row.regret_best_fixed_interval = estimate(over_fixed).half_width;
  row.regret_oracle = estimate(over_oracle).mean;
  row.regret_oracle_interval = estimate(over_oracle).half_width;
  add_totals(row.runs, row);
  return row;
}

Result<std::vector<SeedRuns>> run_seeds(const ScenarioInfo& info, const EvalOptions& options) {
  std::vector<std::optional<Result<SeedRuns>>> results(options.seeds);
  std::atomic<std::size_t> next{0};
  const auto work = [&]() noexcept {
    for (std::size_t i = next.fetch_add(1); i < results.size(); i = next.fetch_add(1)) {
      try {
        results[i].emplace(run_seed(info, options.first_seed + i, options));
      } catch (const std::exception& error) {
        results[i].emplace(Error{Errc::kResource, fmt::format("scenario {}: {}", info.name, error.what())});
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(options.threads, options.seeds); ++i) {
      helpers.emplace_back([&] {
        name_this_thread("rudder-eval");
        work();
      });
    }
    work();
  }
  std::vector<SeedRuns> seeds;
  for (std::optional<Result<SeedRuns>>& result : results) {
    RUDDER_ASSIGN(SeedRuns runs, std::move(*result));
    seeds.push_back(std::move(runs));
  }
  return seeds;
}

}  // namespace

Result<std::vector<EvalRow>> evaluate_deciders(const EvalOptions& options,
                                               const std::function<void(const EvalRow&)>& done) {
  if (options.seeds == 0 || options.deciders.empty()) {
    return Error{Errc::kInvalidArgument, "an evaluation needs a seed and a decider"};
  }
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
  std::vector<EvalRow> rows;
  for (const ScenarioInfo* const info : scenarios) {
    RUDDER_ASSIGN(const std::vector<SeedRuns> seeds, run_seeds(*info, options));
    for (std::size_t decider = 0; decider < options.deciders.size(); ++decider) {
      rows.push_back(make_row(*info, seeds, options.deciders[decider], decider));
      if (done) {
        done(rows.back());
      }
    }
  }
  return rows;
}

}  // namespace rudder::sim
