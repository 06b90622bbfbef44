// SPDX-License-Identifier: Apache-2.0
// One small day whose schedule is worked out by hand: two minipods of four nodes, minutes as the unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sched_helpers.h"

namespace rudder::sched {
namespace {

using testing_support::cluster_of_minipods;
using testing_support::Minutes;
using testing_support::Story;

/// Job names of the scenario, in order of submission at the same time.
struct Scenario {
  Minutes third_runs = 55;
  Minutes second_really_runs = 30;
};

Story scenario(Scenario with) {
  Story story(cluster_of_minipods({4, 4}));
  story.add({.name = "LPJ", .submit = 0, .nodes = 4, .predicted = 240, .runs = 240, .arrival = 60});
  story.add({.name = "J1", .submit = 0, .nodes = 4, .predicted = 100, .runs = 100});
  story.add({.name = "J2", .submit = 5, .nodes = 2, .predicted = 30, .runs = with.second_really_runs});
  story.add({.name = "J3", .submit = 10, .nodes = 2, .predicted = with.third_runs, .runs = with.third_runs});
  story.add({.name = "J4", .submit = 20, .nodes = 2, .predicted = 20, .runs = 20, .preemptible = true});
  return story;
}

TEST(GoldenScenario, ZoneIsFreeWhenThePlannedJobArrives) {
  const auto told = scenario({}).tell({.policy = Policy::kReserve});
  EXPECT_EQ(told.start("J1"), 0);
  EXPECT_EQ(told.minipods("J1"), "a");
  EXPECT_EQ(told.start("J2"), 5);
  EXPECT_EQ(told.minipods("J2"), "b");
  EXPECT_EQ(told.start("J3"), 100);
  EXPECT_EQ(told.minipods("J3"), "a");
  EXPECT_EQ(told.start("J4"), 20);
  EXPECT_EQ(told.minipods("J4"), "b");
  EXPECT_EQ(told.start("LPJ"), 60);
  EXPECT_EQ(told.minipods("LPJ"), "b");
  ASSERT_EQ(told.result.zones.size(), 1U);
  EXPECT_EQ(told.result.zones[0].planned, 0);
  EXPECT_DOUBLE_EQ(told.result.zones[0].retention, 0.0);
  EXPECT_EQ(told.preemptions(), 0);
}

TEST(GoldenScenario, JobThatEndsExactlyAtTheArrivalMayUseTheZone) {
  const auto told = scenario({.third_runs = 50}).tell({.policy = Policy::kReserve});
  EXPECT_EQ(told.start("J3"), 10);
  EXPECT_EQ(told.minipods("J3"), "b");
  EXPECT_EQ(told.start("LPJ"), 60);
  EXPECT_DOUBLE_EQ(told.result.zones[0].retention, 0.0);
}

TEST(GoldenScenario, JobThatRunsOnIntoTheArrivalIsRequeued) {
  const auto told = scenario({.second_really_runs = 80}).tell({.policy = Policy::kReserve});
  EXPECT_EQ(told.start("LPJ"), 60);
  EXPECT_EQ(told.minipods("LPJ"), "b");
  EXPECT_DOUBLE_EQ(told.result.zones[0].retention, 0.5);
  EXPECT_EQ(told.preemptions(), 1);
  EXPECT_EQ(told.record("J2").preemptions, 1);
  EXPECT_GT(told.record("J2").end, 0) << "requeued, and run to its end later";
}

TEST(GoldenScenario, GraceDelaysTheArrivalByNoMoreThanItself) {
  const auto told = scenario({.second_really_runs = 80}).tell({.policy = Policy::kReserve, .grace = 60 * 2});
  EXPECT_EQ(told.start("LPJ"), 62);
}

TEST(GoldenScenario, WithoutAZoneThePlannedJobWaits) {
  const auto told = scenario({}).tell({.policy = Policy::kEasy});
  EXPECT_EQ(told.start("J3"), 10);
  EXPECT_EQ(told.start("LPJ"), 65);
  const auto late = scenario({.second_really_runs = 80}).tell({.policy = Policy::kEasy});
  EXPECT_EQ(late.start("LPJ"), 85);
}

}  // namespace
}  // namespace rudder::sched
