// SPDX-License-Identifier: Apache-2.0
#include "sim/steer_rows.h"

#include <algorithm>

#include "rudder/sim/estimate.h"

namespace rudder::sim {
namespace {

/// Decisions that came, and those of them that were the best by their own window's labels.
std::optional<double> best_choices(const std::vector<SteeredRun>& runs) {
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
  return choices == 0 ? std::nullopt
                      : std::optional(static_cast<double>(best) / static_cast<double>(choices));
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
  std::vector<const steer::ControllerTotals*> totals;
  for (const SteeredRun& run : row.runs) {
    totals.push_back(&run.totals);
  }
  static_cast<Deciding&>(row) = deciding(totals);
  row.best_choices = best_choices(row.runs);
  return row;
}

}  // namespace rudder::sim
