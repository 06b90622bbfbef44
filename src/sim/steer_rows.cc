// SPDX-License-Identifier: Apache-2.0
#include "sim/steer_rows.h"

#include <algorithm>

#include "rudder/metrics/quantile.h"
#include "rudder/sim/estimate.h"

namespace rudder::sim {
namespace {

/// Of part / whole, when there is a whole.
std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

void add_totals(const std::vector<SteeredRun>& runs, EvalRow& row) {
  std::uint64_t valid = 0, predictions = 0, right = 0;
  std::vector<double> latencies;
  for (const SteeredRun& run : runs) {
    row.decisions += run.totals.decisions;
    row.applied += run.totals.applied;
    row.model_calls += run.totals.model_calls;
    row.dropped += run.totals.dropped;
    valid += run.totals.valid_replies;
    predictions += run.totals.predictions;
    right += run.totals.right_directions;
    latencies.insert(latencies.end(), run.totals.latencies.begin(), run.totals.latencies.end());
  }
  row.valid_rate = share_of(valid, row.model_calls);
  row.first_try_direction = share_of(right, predictions);
  if (!latencies.empty()) {
    row.latency_p50 = metrics::quantile(latencies, 0.5);
    row.latency_p95 = metrics::quantile(latencies, 0.95);
  }
}

/// Decisions that came, and those of them that were the best by their own window's labels.
void add_choices(const std::vector<SteeredRun>& runs, EvalRow& row) {
  std::uint64_t choices = 0, best = 0;
  for (const SteeredRun& run : runs) {
    for (const steer::DecisionRecord& record : run.records) {
      if (!record.decision || !record.decision->valid_reply) {
        continue;
      }
      const std::size_t window = record.decision->sequence;
      const std::size_t action = record.decision->action;
      if (window < run.labels.size() && action < run.labels[window].costs.size()) {
        const steer::LabelledWindow& labelled = run.labels[window];
        ++choices;
        best += labelled.costs[action] <= labelled.costs[labelled.best] ? 1U : 0U;
      }
    }
  }
  row.best_choices = share_of(best, choices);
}

}  // namespace

std::size_t best_fixed(const std::vector<SeedRuns>& seeds) {
  std::vector<double> sums(seeds.front().fixed.size(), 0);
  for (const SeedRuns& seed : seeds) {
    for (std::size_t action = 0; action < sums.size(); ++action) {
      sums[action] += seed.fixed[action].cost;
    }
  }
  return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

EvalRow make_row(const std::vector<SeedRuns>& seeds, std::size_t number) {
  const std::size_t best = best_fixed(seeds);
  const auto count = static_cast<double>(seeds.size());
  std::vector<double> costs, fixed, oracles, over_fixed, over_oracle;
  EvalRow row;
  for (const SeedRuns& seed : seeds) {
    const DeciderRun& each = seed.runs[number];
    const double fixed_cost = seed.fixed[best].cost;
    const double oracle_cost = seed.world.oracle.cost;
    costs.push_back(each.run.cost);
    fixed.push_back(fixed_cost);
    oracles.push_back(oracle_cost);
    over_fixed.push_back(each.run.cost / fixed_cost - 1);
    over_oracle.push_back(each.run.cost / oracle_cost - 1);
    row.parts.add(each.parts, 1 / (oracle_cost * count));
    row.runs.push_back(each.run);
  }
  row.scenario = seeds.front().world.scenario;
  row.seeds = seeds.size();
  row.cost = estimate(costs).mean;
  row.cost_interval = estimate(costs).half_width;
  row.best_fixed = seeds.front().world.actions[best];
  row.best_fixed_cost = estimate(fixed).mean;
  row.oracle_cost = estimate(oracles).mean;
  row.regret_best_fixed = estimate(over_fixed).mean;
  row.regret_best_fixed_interval = estimate(over_fixed).half_width;
  row.regret_oracle = estimate(over_oracle).mean;
  row.regret_oracle_interval = estimate(over_oracle).half_width;
  add_totals(row.runs, row);
  add_choices(row.runs, row);
  return row;
}

}  // namespace rudder::sim
