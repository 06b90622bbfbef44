// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/steer_eval.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Windows of one batch each; phases begin at windows 0 and 4.
Scenario two_phases(std::size_t windows) {
  Scenario scenario;
  scenario.window = 1;
  scenario.batches.resize(windows);
  scenario.phases = {{0, "first"}, {4, "second"}};
  return scenario;
}

SteeredRun run_of(std::vector<std::size_t> actions, std::vector<double> seconds) {
  SteeredRun run;
  run.actions = std::move(actions);
  run.by_window = std::move(seconds);
  run.records.resize(run.actions.size());
  return run;
}

TEST(RegretPartsTest, AttributeEachWindowByWhyItsActionHeld) {
  const Scenario scenario = two_phases(12);
  const SteeredRun oracle = run_of({0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, std::vector<double>(12, 1));
  SteeredRun run =
      run_of({2, 0, 0, 0, 0, 0, 1, 2, 2, 2, 1, 1}, {1.5, 1.25, 1, 1, 3, 2, 1, 4, 5, 6, 1.125, 1});
  run.records[6].verdict = steer::Verdict::kApplied;          // 2 in window 7
  run.records[7].verdict = steer::Verdict::kCoolingDown;      // still in 8
  run.records[8].verdict = steer::Verdict::kNegativeBenefit;  // and in 9
  const RegretParts parts = regret_parts(scenario, run, oracle);
  EXPECT_DOUBLE_EQ(parts.unforeseen, 0.5 + 2);
  EXPECT_DOUBLE_EQ(parts.late, 1);
  EXPECT_DOUBLE_EQ(parts.decider, 3);
  EXPECT_DOUBLE_EQ(parts.cooling, 4);
  EXPECT_DOUBLE_EQ(parts.evaluator, 5);
  EXPECT_DOUBLE_EQ(parts.carried, 0.25 + 0.125);
}

TEST(RegretPartsTest, AnActionThatNeverComesIsAChoiceAndNoDelay) {
  const Scenario scenario = two_phases(8);
  const SteeredRun oracle = run_of({0, 0, 0, 0, 1, 1, 1, 1}, std::vector<double>(8, 1));
  SteeredRun run = run_of({0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 2, 2, 2, 2});
  for (steer::DecisionRecord& record : run.records) {
    record.verdict = steer::Verdict::kUnchanged;
  }
  const RegretParts parts = regret_parts(scenario, run, oracle);
  EXPECT_DOUBLE_EQ(parts.unforeseen, 1);
  EXPECT_DOUBLE_EQ(parts.late, 0);
  EXPECT_DOUBLE_EQ(parts.decider, 3);
}

Evaluation evaluated(const EvalOptions& options) {
  Result<Evaluation> result = evaluate_deciders(options, {});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

double sum_of(const RegretParts& parts) {
  return parts.unforeseen + parts.late + parts.decider + parts.evaluator + parts.cooling + parts.carried;
}

TEST(Evaluate, AHarmfulDeciderCostsMoreWithoutItsGuard) {
  EvalOptions options;
  options.scenarios = {"evaluation"};
  options.deciders = {"always"};
  options.unguarded = true;
  options.seeds = 2;
  const Evaluation result = evaluated(options);
  ASSERT_EQ(result.rows.size(), 2U);
  const EvalRow& guarded = result.rows[0];
  const EvalRow& unguarded = result.rows[1];
  EXPECT_TRUE(guarded.guarded);
  EXPECT_FALSE(unguarded.guarded);
  EXPECT_LT(guarded.cost, unguarded.cost);
  EXPECT_GT(guarded.dropped, 0U);
  EXPECT_EQ(unguarded.dropped, 0U);
  EXPECT_EQ(unguarded.runs.size(), 2U);
  for (const EvalRow& row : result.rows) {
    EXPECT_NEAR(sum_of(row.parts), row.regret_oracle, 1e-9);
  }
  ASSERT_EQ(result.worlds.size(), 1U);
  EXPECT_EQ(result.worlds[0].oracle.actions.size(), guarded.runs[0].actions.size());
}

TEST(Evaluate, LeavesOutDecidersThatHaveNoWordsForAnActionSetOnlyWhenTold) {
  EvalOptions options;
  options.scenarios = {"stationary"};
  options.deciders = {"always", "never", "rf"};
  options.seeds = 1;
  const Result<Evaluation> refused = evaluate_deciders(options, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("decider 'always' needs an action 'replace'"));
  options.leave_out_unfit = true;
  const Evaluation result = evaluated(options);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].decider, "never");
  ASSERT_EQ(result.left_out.size(), 2U);
  EXPECT_EQ(result.left_out[0].decider, "always");
  EXPECT_THAT(result.left_out[1].why, HasSubstr("needs the file of a trained classifier"));
}

TEST(Evaluate, ThreadsChangeNoResult) {
  EvalOptions options;
  options.scenarios = {"drift"};
  options.deciders = {"hedge"};
  options.seeds = 2;
  const Evaluation one = evaluated(options);
  options.threads = 2;
  const Evaluation two = evaluated(options);
  for (std::size_t seed = 0; seed < 2; ++seed) {
    EXPECT_EQ(one.rows[0].runs[seed].by_window, two.rows[0].runs[seed].by_window);
  }
}

TEST(Lessons, AreOfOtherWorldsOnlyWhereTheScenarioSaysSo) {
  const auto graph_of = [](const Scenario& scenario) {
    return scenario.graph.substr(0, scenario.graph.find(' '));
  };
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const char* const name : {"seen_world", "unseen_graph", "unseen_buffer", "unseen_link"}) {
      SCOPED_TRACE(::testing::Message() << name << " seed " << seed);
      const ScenarioInfo& info = *find_scenario(name).value();
      const Scenario run = info.make(seed).value();
      const std::vector<Scenario> lessons = info.lessons(seed).value();
      ASSERT_EQ(lessons.size(), 4U);
      bool same_world = false;
      for (const Scenario& lesson : lessons) {
        EXPECT_EQ(lesson.actions.key(), run.actions.key());
        EXPECT_NE(lesson.batches, run.batches);
        const bool same_graph = graph_of(lesson) == graph_of(run);
        const double share = static_cast<double>(lesson.capacity) / static_cast<double>(lesson.halo.size());
        const double run_share = static_cast<double>(run.capacity) / static_cast<double>(run.halo.size());
        const bool same_buffer = std::abs(share / run_share - 1) < 0.1;
        const bool same_link =
            lesson.conditions[0].link_bytes_per_second == run.conditions[0].link_bytes_per_second;
        EXPECT_FALSE(info.name == "unseen_graph" && same_graph);
        EXPECT_FALSE(info.name == "unseen_buffer" && same_buffer);
        EXPECT_FALSE(info.name == "unseen_link" && same_link);
        same_world |= same_graph && same_buffer && same_link;
      }
      EXPECT_EQ(same_world, info.name == "seen_world");
    }
  }
}

TEST(Lessons, TeachNearestAndClassifiersBeforeTheRunBegins) {
  EvalOptions options;
  options.scenarios = {"unseen_link"};
  options.deciders = {"nearest", "lr"};
  options.seeds = 1;
  options.unguarded = true;
  options.guarded = false;
  const Evaluation result = evaluated(options);
  ASSERT_EQ(result.rows.size(), 2U);
  for (const EvalRow& row : result.rows) {
    const steer::DecisionRecord& first = row.runs[0].records.front();
    ASSERT_TRUE(first.decision.has_value());
    EXPECT_GT(first.decision->confidence, 0) << row.decider << " knows nothing before the first window";
    EXPECT_GT(row.best_choices.value(), 0.5) << row.decider;
  }
  EXPECT_THAT(result.left_out, IsEmpty());
}

}  // namespace
}  // namespace rudder::sim
