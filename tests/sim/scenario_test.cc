// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/scenario.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "rudder/sim/steer_eval.h"

namespace rudder::sim {
namespace {

class EveryScenario : public ::testing::TestWithParam<std::string> {
 protected:
  static Scenario make(std::uint64_t seed) {
    const Result<const ScenarioInfo*> info = find_scenario(GetParam());
    EXPECT_TRUE(info.ok());
    Result<Scenario> scenario = (*info)->make(seed);
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
    return std::move(scenario).value();
  }
};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const ScenarioInfo& info : scenario_table()) {
    names.emplace_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryScenario, ::testing::ValuesIn(all_names()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(EveryScenario, IsWellFormedAndAFunctionOfItsSeed) {
  const Scenario scenario = make(1);
  EXPECT_EQ(scenario.name, GetParam());
  ASSERT_FALSE(scenario.batches.empty());
  EXPECT_EQ(scenario.batches.size() % scenario.window, 0U);
  EXPECT_EQ(scenario.conditions.size(), scenario.batches.size());
  EXPECT_EQ(scenario.training.size(), scenario.batches.size());
  for (const std::vector<NodeId>& rows : scenario.batches) {
    ASSERT_TRUE(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end());
    ASSERT_TRUE(rows.empty() || (rows.front() >= scenario.owners[1] && rows.back() < scenario.owners.back()))
        << "rows that are the trainer's own, or nobody's";
  }
  ASSERT_FALSE(scenario.phases.empty());
  EXPECT_EQ(scenario.phases.front().first, 0U);
  for (std::size_t phase = 0; phase < scenario.phases.size(); ++phase) {
    EXPECT_EQ(scenario.phases[phase].first % scenario.window, 0U);
    EXPECT_LT(scenario.phases[phase].first, scenario.batches.size());
    EXPECT_TRUE(phase == 0 || scenario.phases[phase - 1].first < scenario.phases[phase].first);
  }
  EXPECT_EQ(make(1).batches, scenario.batches);
  EXPECT_NE(make(2).batches, scenario.batches);
}

TEST_P(EveryScenario, TheOracleIsNotBeatenByAnyFixedSettingByMuch) {
  const Scenario scenario = make(3);
  const Result<SteeredRun> oracle = run_oracle(scenario);
  ASSERT_TRUE(oracle.ok()) << oracle.error().message;
  EXPECT_EQ(oracle->by_window.size(), scenario.windows());
  for (std::size_t action = 0; action < scenario.actions.actions.size(); ++action) {
    const Result<SteeredRun> fixed = run_fixed(scenario, action);
    ASSERT_TRUE(fixed.ok());
    EXPECT_GT(fixed->cost, 0);
    // Greedy by phase: it may leave a later phase a worse buffer, not a much worse one.
    EXPECT_LE(oracle->cost, 1.01 * fixed->cost) << scenario.actions.actions[action].name;
    EXPECT_EQ(fixed->requests, oracle->requests);
  }
  const Result<SteeredRun> again = run_plan(scenario, oracle->actions);
  ASSERT_TRUE(again.ok());
  EXPECT_DOUBLE_EQ(again->cost, oracle->cost) << "the oracle's plan costs what it says";
}

TEST(ScenarioTable, AnUnknownNameIsAnErrorWithAHint) {
  const Result<const ScenarioInfo*> found = find_scenario("stationery");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("did you mean 'stationary'"), std::string::npos)
      << found.error().message;
}

}  // namespace
}  // namespace rudder::sim
