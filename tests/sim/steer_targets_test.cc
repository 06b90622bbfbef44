// SPDX-License-Identifier: Apache-2.0
// What steering is held to: never worse than the best fixed setting in hindsight, near the oracle that knows
// the phases, whoever decides.
#include <string>

#include <gtest/gtest.h>

#include "rudder/sim/steer_eval.h"

namespace rudder::sim {
namespace {

constexpr double kOverOracle = 0.05;
constexpr double kControlOverFixed = 0.01;

class SteerTargets : public ::testing::TestWithParam<std::string> {};

TEST_P(SteerTargets, AreReachedByWhoeverDecidesBehindTheGuard) {
  EvalOptions options;
  options.scenarios = {GetParam()};
  options.deciders = {"never", "hedge", "nearest"};
  options.seeds = 2;
  const Result<Evaluation> result = evaluate_deciders(options, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const EvalRow& row : result->rows) {
    SCOPED_TRACE(row.decider);
    RecordProperty(row.decider + "_over_best_fixed", std::to_string(row.regret_best_fixed));
    RecordProperty(row.decider + "_over_oracle", std::to_string(row.regret_oracle));
    if (GetParam() == "stationary") {
      EXPECT_LE(row.regret_best_fixed, kControlOverFixed);
    } else {
      EXPECT_LE(row.regret_best_fixed, 0);
      EXPECT_LE(row.regret_oracle, kOverOracle);
      EXPECT_GE(row.best_fixed_cost / row.oracle_cost - 1, 0.04) << "there is nothing to decide";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, SteerTargets,
                         ::testing::Values("stationary", "drift", "shrinking_link", "memory", "evaluation",
                                           "hot_owner"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace rudder::sim
