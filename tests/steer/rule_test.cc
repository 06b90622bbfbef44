// SPDX-License-Identifier: Apache-2.0
// The rules, one after another, on windows made by hand.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/decider.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing_support::four_knobs;
using testing_support::hit_window;

class ReplaceRule : public testing::Test {
 protected:
  Decision decide(const Window& window) { return rule_->decide(window, {}).value(); }
  /// The next window, with that hit rate and the action that was decided on last.
  Decision next(double hit_rate) {
    last_ = decide(hit_window(sequence_++, hit_rate, last_.action));
    return last_;
  }

  ActionSet actions_ = replace_actions();
  std::unique_ptr<Decider> rule_ = std::move(make_decider("rule", {.actions = &actions_})).value();
  std::uint64_t sequence_ = 0;
  Decision last_;
};

TEST_F(ReplaceRule, ReplacesWhenNothingHits) {
  const Decision decision = next(0);
  EXPECT_EQ(decision.action, 1U);
  EXPECT_EQ(decision.reason, "nothing hits");
  EXPECT_EQ(decision.expected, (Expected{Direction::kIncrease, Direction::kDecrease}));
}

TEST_F(ReplaceRule, ReplacesWhenTheHitRateFallsAndNotWhenItStays) {
  EXPECT_EQ(next(0.8).action, 0U);
  EXPECT_EQ(next(0.8).action, 0U);
  const Decision decision = next(0.75);
  EXPECT_EQ(decision.action, 1U);
  EXPECT_EQ(decision.reason, "the hit rate falls");
}

TEST_F(ReplaceRule, ReplacesWhenTheHitRateIsLow) {
  EXPECT_EQ(next(0.2).reason, "the hit rate is low");
  EXPECT_EQ(last_.action, 1U);
}

TEST_F(ReplaceRule, ReplacesWhenTrafficGrows) {
  next(0.8);
  Window window = hit_window(1, 0.8);
  window.counts.fetched = window.counts.fetched * 11 / 10;
  EXPECT_EQ(decide(window).reason, "traffic grows");
}

TEST_F(ReplaceRule, LetsARisingHitRateRise) {
  EXPECT_EQ(next(0.2).action, 1U);
  last_.action = 0;  // it was not let through
  const Decision decision = next(0.25);
  EXPECT_EQ(decision.action, 0U);
  EXPECT_EQ(decision.reason, "the hit rate rises by itself");
}

TEST_F(ReplaceRule, GivesUpAfterTwoReplacementsThatChangedNothingUntilTheHitRateFalls) {
  EXPECT_EQ(next(0.2).action, 1U);
  EXPECT_EQ(next(0.2).action, 1U) << "one attempt in vain";
  const Decision decision = next(0.2);
  EXPECT_EQ(decision.action, 0U) << "two";
  EXPECT_EQ(decision.reason, "the last replacements changed nothing");
  EXPECT_EQ(next(0.2).action, 0U);
  EXPECT_EQ(next(0.195).action, 0U);
  EXPECT_EQ(next(0.15).action, 1U) << "something has changed";
}

TEST_F(ReplaceRule, NeedsCandidates) {
  Window window = hit_window(0, 0);
  window.stale = 0;
  EXPECT_EQ(decide(window).action, 0U);
  EXPECT_EQ(decide(window).reason, "every row in the buffer is in use");
}

TEST_F(ReplaceRule, StopsNearTheEndOfTheRun) {
  Window window = hit_window(95, 0);  // batches 950 to 960
  window.steps_total = 1010;
  EXPECT_EQ(decide(window).reason, "the run is nearly over");
  window.steps_total = 1011;
  EXPECT_EQ(decide(window).reason, "nothing hits");
  window.steps_total = 0;  // not known
  EXPECT_EQ(decide(window).reason, "nothing hits");
}

TEST_F(ReplaceRule, LeavesEvaluationAlone) {
  Window window = hit_window(0, 0);
  window.training = false;
  EXPECT_EQ(decide(window).action, 0U);
}

class KnobRule : public testing::Test {
 protected:
  /// Decides on a window with those shares, under that action; gives the next one's name.
  std::string next(const std::string& action, double stall, double all_reduce) {
    Window window = hit_window(sequence_++, 0.5, actions_.find(action));
    window.stall_seconds = stall;
    window.all_reduce_seconds = all_reduce;
    const auto decision = rule_->decide(window, {});
    EXPECT_TRUE(decision.ok());
    return actions_.actions[decision->action].name;
  }

  ActionSet actions_ = knob_actions({.policies = {"lookahead"},
                                     .depths = {2, 8, 4},
                                     .prefetch_bytes_per_second = {0, 2e6},
                                     .slot_shares = {1, 0.5}})
                           .value();
  std::unique_ptr<Decider> rule_ = std::move(make_decider("rule", {.actions = &actions_})).value();
  std::uint64_t sequence_ = 0;
};

TEST_F(KnobRule, LeavesAFedTrainerAlone) {
  EXPECT_EQ(next("depth2-fullrate-slots50", 0.01, 0.1), "depth2-fullrate-slots50");
  EXPECT_EQ(next("depth2-fullrate-slots50", 0.09, 0.4), "depth2-fullrate-slots50");
}

TEST_F(KnobRule, FetchesFasterThenDeeperThenKeepsMoreWhenBatchesWait) {
  EXPECT_EQ(next("depth2-rate2000k-slots50", 0.3, 0.1), "depth2-fullrate-slots50");
  EXPECT_EQ(next("depth2-fullrate-slots50", 0.3, 0.1), "depth4-fullrate-slots50") << "one step, not two";
  EXPECT_EQ(next("depth4-fullrate-slots50", 0.3, 0.1), "depth8-fullrate-slots50");
  EXPECT_EQ(next("depth8-fullrate-slots50", 0.3, 0.1), "depth8-fullrate-slots100");
  EXPECT_EQ(next("depth8-fullrate-slots100", 0.3, 0.1), "depth8-fullrate-slots100");
}

TEST_F(KnobRule, KeepsMoreBeforeItFetchesDeeperWhenTheLinkIsCrowded) {
  EXPECT_EQ(next("depth2-rate2000k-slots50", 0.3, 0.3), "depth2-rate2000k-slots100");
  EXPECT_EQ(next("depth2-rate2000k-slots100", 0.3, 0.3), "depth4-rate2000k-slots100");
}

TEST_F(KnobRule, FetchesSlowerWhenOnlyGradientsWait) {
  EXPECT_EQ(next("depth2-fullrate-slots50", 0.01, 0.3), "depth2-rate2000k-slots50");
  EXPECT_EQ(next("depth2-rate2000k-slots50", 0.01, 0.3), "depth2-rate2000k-slots50");
}

}  // namespace
}  // namespace rudder::steer
