// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/controller.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steer/scripted.h"
#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::alone;
using testing_support::letters;
using testing_support::Scripted;

TEST(Controller, AppliesADecisionAtTheBorderOfItsWindow) {
  Scripted run(letters(3), alone(), {1, 1, 1});
  EXPECT_EQ(run.controller.action(), 0U);
  ASSERT_TRUE(run.window());
  EXPECT_EQ(run.controller.question().sequence, 0U);
  EXPECT_EQ(run.controller.report().action, "a");
  run.answer(2);
  EXPECT_EQ(run.controller.action(), 0U);  // not before the border
  const DecisionRecord record = run.settle();
  EXPECT_EQ(record.verdict, Verdict::kApplied);
  EXPECT_EQ(record.applied, 2U);
  EXPECT_EQ(record.staleness, 0U);
  EXPECT_EQ(run.controller.action(), 2U);
  EXPECT_EQ(run.decided(2).verdict, Verdict::kUnchanged);
}

TEST(Controller, HoldsADecisionWhileNothingTriggersTheNext) {
  ControllerOptions options = alone();
  options.trigger.every = 3;
  Scripted run(letters(2), options, {1, 1});
  std::vector<std::string> verdicts;
  std::vector<std::size_t> applied;
  for (int i = 0; i < 7; ++i) {
    const DecisionRecord record = run.decided(1);
    verdicts.emplace_back(name_of(record.verdict));
    applied.push_back(record.applied);
  }
  EXPECT_THAT(verdicts, ElementsAre("no_trigger", "no_trigger", "applied", "no_trigger", "no_trigger",
                                    "unchanged", "no_trigger"));
  EXPECT_THAT(applied, ElementsAre(0, 0, 1, 1, 1, 1, 1));
}

TEST(Controller, AppliesALateAnswerWithItsStaleness) {
  Scripted run(letters(2), alone(), {1, 1});
  ASSERT_TRUE(run.window());
  EXPECT_EQ(run.settle().verdict, Verdict::kPending);
  EXPECT_FALSE(run.window());  // one question at a time
  EXPECT_EQ(run.settle().verdict, Verdict::kPending);
  run.answer(1, 0);
  EXPECT_TRUE(run.window());  // the trigger fired again meanwhile
  const DecisionRecord record = run.settle();
  EXPECT_EQ(record.verdict, Verdict::kApplied);
  EXPECT_EQ(record.staleness, 2U);
  EXPECT_EQ(record.decision->sequence, 0U);
  EXPECT_EQ(run.controller.totals().staleness_windows, 2U);
}

TEST(Controller, GivesAQuestionUpAndDropsItsAnswerAsStale) {
  ControllerOptions options = alone();
  options.guard.stale_after = 2;
  Scripted run(letters(2), options, {1, 1});
  ASSERT_TRUE(run.window());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run.settle().verdict, Verdict::kPending);
    EXPECT_FALSE(run.window());
  }
  EXPECT_EQ(run.settle().verdict, Verdict::kPending);
  EXPECT_TRUE(run.window());  // three windows late: asks about this one instead
  const DecisionRecord given_up = run.settle();
  EXPECT_EQ(given_up.verdict, Verdict::kNoAnswer);
  EXPECT_EQ(given_up.why, "none within 2 windows");
  run.answer(1, 0);
  const DecisionRecord record = run.settle();
  EXPECT_EQ(record.why, "");
  EXPECT_EQ(record.verdict, Verdict::kStale);
  EXPECT_EQ(record.staleness, 3U);
  EXPECT_EQ(run.controller.action(), 0U);
  run.answer(1, 3);  // to the question that is out
  EXPECT_EQ(run.settle().verdict, Verdict::kApplied);
}

TEST(Controller, DropsADecisionOnAWindowThatWasNotAskedAbout) {
  Scripted run(letters(2), alone(), {1, 1});
  run.answer(1, 0);  // before anything was asked
  ASSERT_TRUE(run.window());
  EXPECT_EQ(run.settle().verdict, Verdict::kStale);
  run.answer(1, 17);
  EXPECT_EQ(run.settle().verdict, Verdict::kStale);
  EXPECT_EQ(run.controller.action(), 0U);
  run.answer(1, 0);
  run.answer(1, 0);  // twice: the second is on no question any more
  EXPECT_EQ(run.settle().verdict, Verdict::kApplied);
  EXPECT_EQ(run.controller.totals().decisions, 4U);
  EXPECT_EQ(run.controller.totals().dropped, 3U);
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kClosed);
}

TEST(Controller, DropsUnknownActionsAndInvalidReplies) {
  Scripted run(letters(2), alone(), {1, 1});
  EXPECT_EQ(run.decided(2).verdict, Verdict::kUnknownAction);
  EXPECT_EQ(run.decided(~std::size_t{0}).verdict, Verdict::kUnknownAction);
  ASSERT_TRUE(run.window());
  Decision invalid;
  invalid.sequence = run.last();
  invalid.action = 1;
  invalid.from_model = true;
  invalid.valid_reply = false;
  run.controller.answered(invalid, run.now());
  EXPECT_EQ(run.settle().verdict, Verdict::kInvalidReply);
  EXPECT_EQ(run.controller.action(), 0U);
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kOpen);  // three failures in a row
  EXPECT_EQ(run.controller.totals().model_calls, 3U);
  EXPECT_EQ(run.controller.totals().valid_replies, 2U);
}

TEST(Controller, OfADeciderThatNeverAnswersFallsBackAndRecovers) {
  ControllerOptions options;
  options.guard.stale_after = 1;
  options.breaker = {.failures = 2, .dropped = 8, .rest = from_seconds(5)};
  Scripted run(letters(3), options, {2, 1, 3});
  std::vector<std::string> verdicts;
  std::vector<bool> asked;
  for (int i = 0; i < 12; ++i) {
    asked.push_back(run.window());
    const DecisionRecord record = run.settle();
    verdicts.emplace_back(name_of(record.verdict));
    if (i > 4) {
      EXPECT_EQ(record.applied, 1U) << i;  // the best known, whatever the decider does
    }
  }
  // Asked at 0, given up at 2, asked again, given up at 4: open until 5 s later, when one probe is let
  // through.
  EXPECT_THAT(asked,
              ElementsAre(true, false, true, false, false, false, false, false, false, true, false, false));
  EXPECT_THAT(verdicts,
              ElementsAre("pending", "pending", "no_answer", "pending", "no_answer", "breaker_open",
                          "breaker_open", "breaker_open", "breaker_open", "pending", "pending", "no_answer"));
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kOpen);
  EXPECT_EQ(run.controller.totals().breaker_openings, 2U);
  while (!run.window()) {
    EXPECT_EQ(run.settle().applied, 1U);
  }
  EXPECT_EQ(run.last(), 21U);  // ten seconds after the failed probe
  run.costs = {1, 1, 1};
  run.answer(1);
  EXPECT_EQ(run.settle().verdict, Verdict::kUnchanged);
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kClosed);
}

TEST(Controller, OfADeciderThatIsAlwaysWrongDropsItAndStopsAskingAndRecovers) {
  ControllerOptions options;
  options.breaker = {.failures = 3, .dropped = 4, .rest = from_seconds(5)};
  Scripted run(letters(3), options, {2, 1, 3});
  for (int i = 0; i < 4; ++i) {
    const DecisionRecord record = run.decided(2);
    EXPECT_EQ(record.verdict, Verdict::kNegativeBenefit);
    EXPECT_EQ(record.applied, 1U);
  }
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kOpen);
  for (int i = 0; i < 4; ++i) {
    const DecisionRecord record = run.decided(2);
    EXPECT_EQ(record.verdict, Verdict::kBreakerOpen);
    EXPECT_FALSE(record.decision.has_value());
    EXPECT_EQ(record.applied, 1U);
  }
  EXPECT_EQ(run.decided(2).verdict, Verdict::kNegativeBenefit);  // the probe
  EXPECT_EQ(run.controller.totals().breaker_openings, 2U);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(run.decided(2).verdict, Verdict::kBreakerOpen);
  }
  EXPECT_EQ(run.decided(1).verdict, Verdict::kUnchanged);  // the best one
  EXPECT_EQ(run.controller.breaker().state(), Breaker::State::kClosed);
  EXPECT_EQ(run.controller.totals().dropped, 5U);
  EXPECT_EQ(run.controller.totals().applied, 0U);
}

TEST(Controller, TakesAnErrorForNoAnswer) {
  Scripted run(letters(2), alone(), {1, 1});
  run.decided(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run.window());
    run.fail();
    const DecisionRecord record = run.settle();
    EXPECT_EQ(record.verdict, Verdict::kNoAnswer);
    EXPECT_FALSE(record.why.empty());
    EXPECT_EQ(record.applied, i < 2 ? 1U : 0U);  // stays, until the breaker opens
  }
  run.fail();  // nobody was asked: nothing happens
  EXPECT_FALSE(run.window());
  EXPECT_EQ(run.settle().verdict, Verdict::kBreakerOpen);
  EXPECT_EQ(run.controller.totals().breaker_openings, 1U);
}

TEST(Controller, FollowsTheEvaluatorWithoutADecision) {
  ControllerOptions options;
  options.trigger.every = 1000;
  options.evaluator_half_life = 0.1;
  Scripted run(letters(3), options, {2, 1, 3});
  EXPECT_EQ(run.decided(0).applied, 1U);
  run.costs = {2, 3, 1};
  EXPECT_EQ(run.decided(0).applied, 2U);
  run.costs = {1, 1, 1};
  for (int i = 0; i < 20; ++i) {
    run.decided(0);
  }
  EXPECT_EQ(run.count(Verdict::kNoTrigger), 22U);
}

TEST(Controller, WithdrawsADecisionThatTheEvaluatorTurnsAgainst) {
  ControllerOptions options;
  options.trigger.every = 4;
  options.evaluator_half_life = 0.5;
  options.guard.tolerated_excess = 0.5;
  Scripted run(letters(3), options, {2, 1, 1.5});
  for (int i = 0; i < 3; ++i) {
    run.decided(2);
  }
  EXPECT_EQ(run.decided(2).verdict, Verdict::kApplied);
  EXPECT_EQ(run.decided(2).applied, 2U);  // held against the evaluator's best: near enough
  run.costs = {1, 2, 9};
  const DecisionRecord record = run.decided(2);
  EXPECT_EQ(record.verdict, Verdict::kNegativeBenefit);
  EXPECT_EQ(record.decision->sequence, 3U);
  EXPECT_EQ(record.staleness, 2U);
  EXPECT_EQ(record.applied, 0U);
  EXPECT_EQ(run.controller.totals().dropped, 0U);  // it had been applied
}

TEST(Controller, StaysWithWhatIsNearlyTheBestAndLeavesWhatIsNot) {
  ControllerOptions options;
  options.trigger.every = 1000;
  options.evaluator_half_life = 0;
  options.guard.tolerated_excess = 0.1;
  Scripted run(letters(3), options, {1.05, 1.02, 1});
  EXPECT_EQ(run.decided(0).applied, 0U);
  run.costs = {1.2, 1, 1.05};
  EXPECT_EQ(run.decided(0).applied, 1U);
  run.costs = {1, 1.05, 1.02};
  EXPECT_EQ(run.decided(0).applied, 1U);
  run.costs = {1, 1.15, 1.02};
  EXPECT_EQ(run.decided(0).applied, 0U);
}

TEST(Controller, OfADeciderThatFailsUnguardedTakesTheSetsFallback) {
  ControllerOptions options = alone();
  options.breaker.failures = 1;
  Scripted run(letters(3), options, {9, 1, 2});
  EXPECT_EQ(run.decided(2).applied, 2U);
  ASSERT_TRUE(run.window());
  run.fail();
  EXPECT_EQ(run.settle().applied, 0U);
}

TEST(Controller, LetsSettingsCoolDown) {
  Scripted run(letters(3, 3), alone(), {1, 1, 1});
  std::vector<std::string> verdicts;
  for (const std::size_t action : {1U, 2U, 2U, 2U, 2U, 1U}) {
    verdicts.emplace_back(name_of(run.decided(action).verdict));
  }
  EXPECT_THAT(verdicts,
              ElementsAre("applied", "cooling_down", "cooling_down", "applied", "unchanged", "cooling_down"));
}

TEST(Controller, LeavesWhatIsHarmfulThoughTheSettingIsCoolingDown) {
  ControllerOptions options;
  options.evaluator_half_life = 0;
  options.guard.tolerated_excess = 0.5;
  Scripted run(letters(3, 3), options, {1, 1, 1});
  EXPECT_EQ(run.decided(1).applied, 1U);
  EXPECT_EQ(run.decided(2).verdict, Verdict::kCoolingDown);
  run.costs = {9, 9, 1};
  EXPECT_EQ(run.decided(1).applied, 2U);
}

TEST(Controller, HoldsAReplacementForOneWindow) {
  ControllerOptions options = alone();
  options.trigger.every = 2;
  Scripted run(replace_actions(), options, {1, 1});
  std::vector<std::size_t> applied;
  for (int i = 0; i < 6; ++i) {
    applied.push_back(run.decided(1).applied);
  }
  EXPECT_THAT(applied, ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(run.count(Verdict::kApplied), 3U);
}

TEST(Controller, ReplacesInEveryWindowWhenToldSo) {
  Scripted run(replace_actions(), alone(), {1, 1});
  for (int i = 0; i < 4; ++i) {
    const DecisionRecord record = run.decided(1);
    EXPECT_EQ(record.verdict, Verdict::kApplied);
    EXPECT_EQ(record.applied, 1U);
  }
}

TEST(Controller, AnswersFromItsCacheWithoutAsking) {
  ControllerOptions options = alone();
  options.cache_size = 4;
  options.cache_expiry = 3;
  Scripted run(letters(2), options, {1, 1});
  ASSERT_TRUE(run.window());
  run.answer(1);
  EXPECT_FALSE(run.settle().from_cache);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(run.window());
    const DecisionRecord record = run.settle();
    EXPECT_TRUE(record.from_cache);
    EXPECT_EQ(record.verdict, Verdict::kUnchanged);
    EXPECT_EQ(record.staleness, 0U);
    EXPECT_FALSE(record.decision->from_model);
  }
  EXPECT_TRUE(run.window());  // expired
  EXPECT_EQ(run.controller.totals().cache_hits, 3U);
  EXPECT_EQ(run.controller.totals().decisions, 4U);
  EXPECT_EQ(run.controller.totals().model_calls, 1U);
  EXPECT_THAT(run.controller.totals().latencies, ElementsAre(0.25));
}

TEST(Controller, ForgetsCachedDecisionsWhenOneOfThemHarms) {
  ControllerOptions options;
  options.cache_size = 4;
  options.evaluator_half_life = 0.1;
  Scripted run(letters(2), options, {1, 1});
  run.decided(1);
  run.costs = {1, 2};
  EXPECT_FALSE(run.window());
  const DecisionRecord record = run.settle();
  EXPECT_TRUE(record.from_cache);
  EXPECT_EQ(record.verdict, Verdict::kNegativeBenefit);
  EXPECT_EQ(record.applied, 0U);
  EXPECT_TRUE(run.window());
}

TEST(Controller, DoesNotForgetAShiftThatCameWhileAQuestionWasOut) {
  ControllerOptions options = alone();
  options.trigger.by = "shift";
  Scripted run(letters(2), options, {1, 1});
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(run.window(50));
    EXPECT_EQ(run.settle().verdict, Verdict::kNoTrigger);
  }
  EXPECT_TRUE(run.window(90));
  EXPECT_FALSE(run.window(90));
  EXPECT_FALSE(run.window(20));  // shifts again; the question is out
  run.answer(1, 20);
  EXPECT_TRUE(run.window(20));
  EXPECT_EQ(run.settle().verdict, Verdict::kApplied);
}

TEST(Controller, PutsNotesIntoTheNextReport) {
  Scripted run(letters(2), alone(), {1, 1});
  run.controller.note("a job starts on this rack");
  run.controller.note("and another\none");
  run.decided(0);
  EXPECT_THAT(run.controller.report().events, ElementsAre("a job starts on this rack", "and another one"));
  run.decided(0);
  EXPECT_THAT(run.controller.report().events, IsEmpty());
  EXPECT_THAT(run.controller.report().changed, ::testing::Each(false));
}

}  // namespace
}  // namespace rudder::steer
