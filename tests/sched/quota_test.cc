// SPDX-License-Identifier: Apache-2.0
// Shares of tenants, priorities and age.
#include <gtest/gtest.h>

#include "sched/sched_helpers.h"

namespace rudder::sched {
namespace {

using testing_support::cluster_of_minipods;
using testing_support::Story;

constexpr PlannerOptions kBackfill{.policy = Policy::kEasy};

Story two_tenants(QuotaMode mode) {
  Story story(cluster_of_minipods({4}));
  story.quotas(mode, {16, 16});
  for (int i = 0; i < 4; ++i) {
    story.add({.name = testing_support::numbered("a", i), .predicted = 100, .runs = 100, .tenant = 0});
  }
  return story;
}

TEST(Quota, StaticShareIsNeverExceeded) {
  const auto told = two_tenants(QuotaMode::kStatic).tell(kBackfill);
  EXPECT_EQ(told.start("a0"), 0);
  EXPECT_EQ(told.start("a1"), 0);
  EXPECT_EQ(told.start("a2"), 100);
  EXPECT_EQ(told.start("a3"), 100);
}

TEST(Quota, DynamicShareMayBeExceededWhileNobodyWaits) {
  const auto told = two_tenants(QuotaMode::kDynamic).tell(kBackfill);
  EXPECT_EQ(told.start("a3"), 0);
}

TEST(Quota, DynamicShareHoldsWhenOthersWait) {
  Story story = two_tenants(QuotaMode::kDynamic);
  story.add({.name = "b0", .submit = 0, .nodes = 2, .predicted = 100, .runs = 100, .tenant = 1});
  const auto told = story.tell(kBackfill);
  EXPECT_EQ(told.start("b0"), 0) << "within its share, so before who is beyond his";
  EXPECT_EQ(told.start("a2"), 100);
}

TEST(Quota, BorrowerDoesNotOvertakeSomebodyWithinHisShareWhoCannotStartYet) {
  Story story(cluster_of_minipods({4}));
  story.quotas(QuotaMode::kDynamic, {8, 24});
  story.add({.name = "b0", .nodes = 2, .predicted = 50, .runs = 50, .tenant = 1});
  story.add({.name = "a0", .predicted = 10, .runs = 10, .tenant = 0});
  story.add({.name = "b1", .submit = 1, .nodes = 3, .predicted = 10, .runs = 10, .tenant = 1});
  story.add({.name = "a1", .submit = 2, .predicted = 5, .runs = 5, .tenant = 0});
  const auto told = story.tell(kBackfill);
  // b1 would exceed its tenant's share beside b0 (40 of 24 GPUs), so it borrows too and does not stop a1.
  EXPECT_EQ(told.start("a1"), 2);
  EXPECT_EQ(told.start("b1"), 50);
}

TEST(Quota, WaitingTenantStopsBorrowing) {
  Story story(cluster_of_minipods({4}));
  story.quotas(QuotaMode::kDynamic, {8, 24});
  story.add({.name = "a0", .nodes = 2, .predicted = 50, .runs = 50, .tenant = 0});
  story.add({.name = "b0", .submit = 1, .nodes = 3, .predicted = 10, .runs = 10, .tenant = 1});
  story.add({.name = "a1", .submit = 2, .predicted = 5, .runs = 5, .tenant = 0});
  const auto told = story.tell(kBackfill);
  EXPECT_EQ(told.start("a0"), 0) << "nobody else waited";
  EXPECT_EQ(told.start("b0"), 50);
  EXPECT_EQ(told.start("a1"), 50) << "a host was free from the start, but b0 waited within its share";
}

TEST(Quota, StaticShareThatIsTooSmallForAJobRejectsIt) {
  Story story(cluster_of_minipods({4}));
  story.quotas(QuotaMode::kStatic, {16});
  story.add({.name = "large", .nodes = 3, .predicted = 10, .runs = 10});
  EXPECT_TRUE(story.tell(kBackfill).record("large").rejected);
}

TEST(Order, PriorityThenSubmissionThenId) {
  Story story(cluster_of_minipods({1}));
  story.add({.name = "runs", .predicted = 10, .runs = 10});
  story.add({.name = "low", .submit = 1, .predicted = 10, .runs = 10});
  story.add({.name = "low too", .submit = 1, .predicted = 10, .runs = 10});
  story.add({.name = "high", .submit = 5, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell({.policy = Policy::kFifo, .age = 0});
  EXPECT_EQ(told.start("high"), 10);
  EXPECT_EQ(told.start("low"), 20);
  EXPECT_EQ(told.start("low too"), 30);
}

TEST(Order, WaitingRaisesPriorityButNeverAbovePlannedJobs) {
  Story story(cluster_of_minipods({1}));
  story.add({.name = "runs", .predicted = 100, .runs = 100});
  story.add({.name = "old", .submit = 1, .predicted = 10, .runs = 10});
  story.add({.name = "young", .submit = 95, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell({.policy = Policy::kEasy, .age = 30 * 60});
  EXPECT_EQ(told.start("old"), 100) << "99 minutes are worth three steps";
  EXPECT_EQ(told.start("young"), 110);
  JobSpec old;
  JobSpec planned;
  planned.arrival = 0;
  planned.priority = -kMaxPriority;
  EXPECT_LT(effective_priority(old, kMaxTime, 1), effective_priority(planned, 0, 1));
}

}  // namespace
}  // namespace rudder::sched
