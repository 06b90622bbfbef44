// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/action.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const ActionSet& set) {
  std::vector<std::string> result;
  for (const Action& action : set.actions) {
    result.push_back(action.name);
  }
  return result;
}

KnobBounds bounds() {
  return {.policies = {"lru", "fixed-window"},
          .depths = {4, 1},
          .prefetch_bytes_per_second = {0, 2.5e6},
          .slot_shares = {0.75}};
}

std::string refusal(const KnobBounds& bounds) {
  const Result<ActionSet> set = knob_actions(bounds);
  return set.ok() ? "" : set.error().message;
}

TEST(ReplaceActions, AreYesOrNoWithNoAsTheFallback) {
  const ActionSet set = replace_actions();
  EXPECT_THAT(names(set), ElementsAre("skip", "replace"));
  EXPECT_EQ(set.actions[set.fallback].name, "skip");
  EXPECT_FALSE(set.actions[0].setting.replace);
  EXPECT_TRUE(set.actions[1].setting.replace);
  EXPECT_EQ(set.find("replace"), 1U);
  EXPECT_EQ(set.find("Replace"), kMaxActions);
  EXPECT_EQ(set.find(""), kMaxActions);
}

TEST(KnobActions, AreAllCombinationsNamedByWhatDiffers) {
  const Result<ActionSet> set = knob_actions(bounds());
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_THAT(names(*set), ElementsAre("lru-depth4-fullrate", "lru-depth4-rate2500k", "lru-depth1-fullrate",
                                       "lru-depth1-rate2500k", "fixed-window-depth4-fullrate",
                                       "fixed-window-depth4-rate2500k", "fixed-window-depth1-fullrate",
                                       "fixed-window-depth1-rate2500k"));
  const Setting& sixth = set->actions[5].setting;
  EXPECT_EQ(sixth.policy, "fixed-window");
  EXPECT_EQ(sixth.depth, 4U);
  EXPECT_EQ(sixth.prefetch_bytes_per_second, 2.5e6);
  EXPECT_EQ(sixth.slot_share, 0.75);
  EXPECT_FALSE(sixth.replace);
}

TEST(KnobActions, HaveTheFirstOfEachKnobAsTheFallback) {
  const Result<ActionSet> set = knob_actions(bounds());
  ASSERT_TRUE(set.ok());
  const Setting& fallback = set->actions[set->fallback].setting;
  EXPECT_EQ(fallback.policy, "lru");
  EXPECT_EQ(fallback.depth, 4U);
  EXPECT_EQ(fallback.prefetch_bytes_per_second, 0);
}

TEST(KnobActions, HaveDistinctNamesThatModelsCanAnswer) {
  KnobBounds many = bounds();
  many.slot_shares = {1, 0.125};
  const Result<ActionSet> set = knob_actions(many);
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->actions.size(), kMaxActions);
  std::set<std::string> seen;
  for (const Action& action : set->actions) {
    EXPECT_TRUE(seen.insert(action.name).second) << action.name;
    EXPECT_THAT(action.name, ::testing::MatchesRegex("[a-z0-9-]+"));
    EXPECT_THAT(action.help, HasSubstr(action.setting.policy));
    EXPECT_EQ(set->find(action.name), static_cast<std::size_t>(&action - set->actions.data()));
  }
}

TEST(KnobActions, RefusePoliciesThatCannotBeSteered) {
  KnobBounds wrong = bounds();
  wrong.policies = {"lru", "min"};
  EXPECT_THAT(refusal(wrong), HasSubstr("policy 'min' cannot be steered"));
  wrong.policies = {"none", "lru"};
  EXPECT_THAT(refusal(wrong), HasSubstr("policy 'none' cannot be steered"));
  wrong.policies = {"lri"};
  EXPECT_THAT(refusal(wrong), HasSubstr("did you mean"));
}

TEST(KnobActions, RefuseValuesOutOfRange) {
  KnobBounds wrong = bounds();
  wrong.depths = {0};
  EXPECT_THAT(refusal(wrong), HasSubstr("depth 0"));
  wrong.depths = {1025};
  EXPECT_THAT(refusal(wrong), HasSubstr("depth 1025"));
  wrong = bounds();
  wrong.prefetch_bytes_per_second = {-1};
  EXPECT_THAT(refusal(wrong), HasSubstr("prefetch rate -1"));
  wrong.prefetch_bytes_per_second = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(refusal(wrong), HasSubstr("prefetch rate nan"));
  wrong = bounds();
  wrong.slot_shares = {0};
  EXPECT_THAT(refusal(wrong), HasSubstr("slot share 0"));
  wrong.slot_shares = {1.5};
  EXPECT_THAT(refusal(wrong), HasSubstr("slot share 1.5"));
}

TEST(KnobActions, RefuseTooFewAndTooMany) {
  KnobBounds wrong = bounds();
  wrong.depths.clear();
  EXPECT_THAT(refusal(wrong), HasSubstr("0 combinations"));
  wrong = {{"lru"}, {4}, {0}, {1}};
  EXPECT_THAT(refusal(wrong), HasSubstr("1 combinations"));
  wrong = bounds();
  wrong.depths = {1, 2, 3, 4, 5};
  EXPECT_THAT(refusal(wrong), HasSubstr("20 combinations"));
}

TEST(KnobActions, RefuseSettingsThatTheirNamesCannotTellApart) {
  KnobBounds wrong = bounds();
  wrong.slot_shares = {0.5, 0.501};
  EXPECT_THAT(refusal(wrong), HasSubstr("two knob settings are called 'lru-depth4-fullrate-slots50'"));
  wrong = bounds();
  wrong.depths = {4, 4};
  EXPECT_THAT(refusal(wrong), HasSubstr("two knob settings"));
}

TEST(KnobActions, RefuseCombinationsWithoutMakingThemFirst) {
  KnobBounds wrong;
  wrong.policies.assign(10'000, "lru");
  wrong.depths.assign(10'000, 4);
  wrong.prefetch_bytes_per_second.assign(10'000, 0);
  wrong.slot_shares.assign(10'000, 1);
  EXPECT_THAT(refusal(wrong), HasSubstr("combinations of knobs"));
}

}  // namespace
}  // namespace rudder::steer
