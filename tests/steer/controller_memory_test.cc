// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/controller.h"

#include "steer/scripted.h"
#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::alone;
using testing_support::letters;
using testing_support::Scripted;

constexpr Expected kMoreHits{Direction::kIncrease, Direction::kDecrease};

TEST(ControllerMemory, HoldsEachWindowWithWhatFollowedIt) {
  Scripted run(letters(3), alone(), {3, 1, 2});
  run.decided(1, 50);
  EXPECT_THAT(run.memory.kept, IsEmpty());  // its effect is not known yet
  run.decided(2, 80);
  ASSERT_THAT(run.memory.kept, SizeIs(1));
  const Experience& first = run.memory.kept[0];
  EXPECT_EQ(first.run, "run");
  EXPECT_EQ(first.graph, "graph");
  EXPECT_EQ(first.sequence, 0U);
  EXPECT_EQ(first.features, features_of(testing_support::window_at(0)));
  EXPECT_EQ(first.report.action, "a");
  EXPECT_THAT(first.costs, ElementsAre(3, 1, 2));
  EXPECT_EQ(first.best, 1U);
  EXPECT_EQ(first.decision->action, 1U);
  EXPECT_EQ(first.observed, kMoreHits);
  run.decided(2, 79);  // a change of less than 2 % of the hits, of more than 2 % of the traffic
  ASSERT_THAT(run.memory.kept, SizeIs(2));
  EXPECT_EQ(run.memory.kept[1].observed, (Expected{Direction::kStagnant, Direction::kIncrease}));
  run.controller.finish();
  ASSERT_THAT(run.memory.kept, SizeIs(3));
  EXPECT_EQ(run.memory.kept[2].observed, std::nullopt);
  EXPECT_EQ(run.memory.kept[2].decision->action, 2U);
  run.controller.finish();
  EXPECT_THAT(run.memory.kept, SizeIs(3));
}

TEST(ControllerMemory, ShowsTheEffectOfALateDecisionByTheWindowsAroundItsBorder) {
  Scripted run(letters(2), alone(), {1, 1});
  ASSERT_TRUE(run.window(50));
  run.settle();
  run.window(20);
  run.answer(1, 0, kMoreHits);
  run.settle();    // applied here: the window of 20 hits is the one before
  run.window(40);  // and this the one after
  ASSERT_THAT(run.memory.kept, SizeIs(2));
  const Experience& asked = run.memory.kept[0];
  EXPECT_EQ(asked.sequence, 0U);
  EXPECT_EQ(asked.observed, kMoreHits);
  EXPECT_EQ(run.memory.kept[1].sequence, 1U);
  EXPECT_EQ(run.memory.kept[1].decision, std::nullopt);
  EXPECT_EQ(run.controller.totals().predictions, 1U);
  EXPECT_EQ(run.controller.totals().right_directions, 1U);
}

TEST(ControllerMemory, ShowsTheEffectWhereItIsWhenSettingsHoldAWindowLater) {
  ControllerOptions options = alone();
  options.lag = 1;
  Scripted run(letters(2), options, {1, 1});
  ASSERT_TRUE(run.window(50));
  run.answer(1, 0, kMoreHits);
  run.settle();    // applied, to hold from the window after the next one on
  run.window(20);  // still as it was: the window before the effect
  run.settle();
  run.window(40);
  const auto found = std::find_if(run.memory.kept.begin(), run.memory.kept.end(),
                                  [](const Experience& each) { return each.sequence == 0; });
  ASSERT_NE(found, run.memory.kept.end());
  EXPECT_EQ(found->observed, kMoreHits);
  EXPECT_EQ(run.controller.totals().predictions, 1U);
  EXPECT_EQ(run.controller.totals().right_directions, 1U);
}

TEST(ControllerMemory, ScoresPredictionsOfDecisionsThatWereLetThrough) {
  Scripted run(letters(3, 100), alone(), {1, 1, 1});
  const auto predicted = [&](std::size_t action, std::uint64_t hits, Expected expected) {
    ASSERT_TRUE(run.window(hits));
    run.answer(action, run.last(), expected);
    run.settle();
  };
  predicted(1, 50, kMoreHits);                                     // applied; right
  predicted(1, 60, {Direction::kStagnant, Direction::kStagnant});  // unchanged; right
  predicted(1, 60, {Direction::kIncrease, Direction::kStagnant});  // unchanged; wrong
  predicted(2, 60, {Direction::kStagnant, Direction::kStagnant});  // cooling down: does not count
  run.decided(1, 60);
  EXPECT_EQ(run.controller.totals().predictions, 3U);
  EXPECT_EQ(run.controller.totals().right_directions, 2U);
}

TEST(ControllerMemory, DoesNotRememberDecisionsWithoutSense) {
  Scripted run(letters(2), alone(), {1, 1});
  run.decided(7);
  ASSERT_TRUE(run.window());
  Decision decision;
  decision.sequence = run.last();
  decision.confidence = __builtin_nan("");
  run.controller.answered(decision, run.now());
  run.settle();
  ASSERT_TRUE(run.window());
  decision.sequence = run.last();
  decision.confidence = 1;
  decision.reason = "two\nlines " + std::string(10'000, '\xff');
  run.controller.answered(decision, run.now());
  run.settle();
  run.controller.finish();
  ASSERT_THAT(run.memory.kept, SizeIs(3));
  EXPECT_EQ(run.memory.kept[0].decision, std::nullopt);
  EXPECT_EQ(run.memory.kept[1].decision, std::nullopt);
  EXPECT_THAT(run.memory.kept[2].decision->reason, ::testing::StartsWith("two lines \xEF\xBF\xBD"));
  EXPECT_LE(run.memory.kept[2].decision->reason.size(), 400U);
}

TEST(ControllerMemory, ThatFailsIsCountedAndStopsNothing) {
  Scripted run(letters(2), alone(), {1, 1});
  run.memory.broken = true;
  for (int i = 0; i < 5; ++i) {
    run.decided(1);
  }
  EXPECT_EQ(run.controller.totals().memory_errors, 4U);
  EXPECT_EQ(run.controller.totals().memory_error, "list: disk full");
  EXPECT_EQ(run.controller.action(), 1U);
}

TEST(ControllerMemory, MayBeAbsent) {
  const ActionSet actions = letters(2);
  Controller controller(actions, nullptr, {});
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(controller.window_ended(testing_support::labelled_at(i, {1, 2}), TimePoint()), i == 0);
    EXPECT_EQ(controller.settle(TimePoint()).applied, 0U);
  }
}

TEST(EffectOfAWindow, CountsTrafficByTheBatch) {
  Window before = testing_support::window_at(0);
  Window after = testing_support::window_at(1);
  after.end += 2;  // twice the batches, and twice of everything
  after.counts = {200, 100, 100, 0};
  EXPECT_EQ(effect_of(before, after), Expected());
  after.counts.fetched = 103;
  EXPECT_EQ(effect_of(before, after).traffic, Direction::kIncrease);
  before.counts = {};
  EXPECT_EQ(effect_of(before, after), (Expected{Direction::kDecrease, Direction::kIncrease}));
  EXPECT_EQ(effect_of(before, before), Expected());
}

}  // namespace

}  // namespace rudder::steer
