// SPDX-License-Identifier: Apache-2.0
// What users of other schedulers suffer from, by the issue where they say so. Times are minutes, hosts have
// eight GPUs.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sched_helpers.h"

namespace rudder::sched {
namespace {

using testing_support::cluster_of_minipods;
using testing_support::numbered;
using testing_support::Story;

constexpr PlannerOptions kEasy{.policy = Policy::kEasy};
constexpr PlannerOptions kReserve{.policy = Policy::kReserve, .age = 0};

// kubernetes-sigs/kueue#5243, #10497
TEST(Preemption, FreesOneWholeHostAndEveryBlockerOnIt) {
  Story story(cluster_of_minipods({4}));
  for (int i = 0; i < 4; ++i) {
    story.add({.name = numbered("five", i), .gpus = 5, .predicted = 100, .runs = 100, .preemptible = true});
    story.add({.name = numbered("three", i), .gpus = 3, .predicted = 100, .runs = 100, .preemptible = true});
  }
  story.add({.name = "whole", .submit = 10, .predicted = 5, .runs = 5, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("whole"), 10);
  EXPECT_EQ(told.preemptions(), 2) << "two jobs of one host, not eight GPUs anywhere";
}

// kueue#4329
TEST(Capacity, FreeGpusOnManyHostsAreNoFreeHost) {
  Story story(cluster_of_minipods({4}));
  for (int i = 0; i < 4; ++i) {
    story.add({.name = numbered("half", i), .gpus = 5, .predicted = 50 + i, .runs = 50 + i});
  }
  story.add({.name = "whole", .submit = 1, .predicted = 10, .runs = 10});
  story.add({.name = "small", .submit = 2, .gpus = 3, .predicted = 10, .runs = 10});
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.start("whole"), 50);
  EXPECT_EQ(told.start("small"), 2) << "who does fit is not blocked";
}

// kueue#14570, scheduler-plugins#117, #114, #713, #930
TEST(Gangs, TwoThatDoNotFitTogetherRunOneAfterTheOther) {
  for (const Policy policy : {Policy::kFifo, Policy::kEasy, Policy::kReserve}) {
    Story story(cluster_of_minipods({4}));
    story.add({.name = "first", .nodes = 3, .predicted = 10, .runs = 10});
    story.add({.name = "second", .nodes = 3, .predicted = 10, .runs = 10});
    const auto told = story.tell({.policy = policy});
    EXPECT_EQ(told.start("first"), 0);
    EXPECT_EQ(told.start("second"), 10);
  }
}

TEST(Gangs, NineFreeHostsOfTenHoldNothing) {
  Story story(cluster_of_minipods({10}));
  story.add({.name = "long", .predicted = 100, .runs = 100});
  story.add({.name = "gang", .submit = 1, .nodes = 10, .predicted = 10, .runs = 10});
  story.add({.name = "short", .submit = 2, .nodes = 9, .predicted = 98, .runs = 98});
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.start("short"), 2) << "the nine hosts are used until the tenth is free";
  EXPECT_EQ(told.start("gang"), 100);
}

// kueue#8748, kai-scheduler#1217
TEST(Gangs, RunsOnIdleHostsAfterAFailure) {
  Story story(cluster_of_minipods({4}));
  story.add({.name = "gang", .nodes = 4, .predicted = 30, .runs = 30, .checkpoint = 5, .restart = 1});
  story.outage("a2", 12, 20);
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.record("gang").node_failures, 1);
  ASSERT_EQ(told.runs("gang").size(), 2U);
  EXPECT_EQ(told.runs("gang")[1].start, 20 * 60) << "whole, as soon as the host is back";
  EXPECT_EQ(told.end("gang"), 20 + 1 + 20) << "ten of thirty minutes were saved";
}

TEST(Gangs, LostHostIsNotUsedWhileOthersAreFree) {
  Story story(cluster_of_minipods({3, 3}));
  story.add({.name = "gang", .nodes = 2, .predicted = 30, .runs = 30});
  story.outage("a1", 10, 100);
  const auto told = story.tell(kEasy);
  ASSERT_EQ(told.runs("gang").size(), 2U);
  EXPECT_EQ(told.runs("gang")[1].start, 10 * 60);
  EXPECT_EQ(told.minipods("gang"), "a") << "two hosts are left there";
}

// kueue#10815
TEST(Preemption, NobodyIsEvictedInVain) {
  Story story(cluster_of_minipods({4}));
  story.add({.name = "keeps", .predicted = 100, .runs = 100});
  story.add({.name = "low", .nodes = 3, .predicted = 100, .runs = 100, .preemptible = true});
  story.add({.name = "four", .submit = 5, .nodes = 4, .predicted = 10, .runs = 10, .priority = 5});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.record("low").preemptions, 0) << "four hosts cannot be had while one keeps its own";
  EXPECT_EQ(told.start("four"), 100);
}

// kueue#12478
TEST(Preemption, ClearsTheRackThatLosesLeast) {
  Story story(cluster_of_minipods({3, 3, 3}));
  // Each rack is full; the middle one started last and has least to lose.
  story.add({.name = "a", .nodes = 3, .predicted = 200, .runs = 200, .preemptible = true});
  story.add({.name = "b", .submit = 0, .nodes = 3, .predicted = 20, .runs = 20});
  story.add({.name = "c", .nodes = 3, .predicted = 200, .runs = 200, .preemptible = true});
  story.add({.name = "late", .submit = 20, .nodes = 3, .predicted = 200, .runs = 200, .preemptible = true});
  story.add({.name = "high", .submit = 30, .nodes = 3, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("high"), 30);
  EXPECT_EQ(told.minipods("high"), "b");
  EXPECT_EQ(told.record("late").preemptions, 1);
  EXPECT_EQ(told.preemptions(), 1);
}

// kueue#10929, kai-scheduler#1591
TEST(Preemption, LooksIntoDomainsThatAreEntirelyOccupied) {
  Story story(cluster_of_minipods({2, 2}));
  story.add({.name = "one", .nodes = 2, .predicted = 100, .runs = 100, .preemptible = true});
  story.add({.name = "two", .nodes = 2, .predicted = 100, .runs = 100, .preemptible = true});
  story.add({.name = "high", .submit = 1, .nodes = 2, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("high"), 1);
  EXPECT_EQ(told.preemptions(), 1);
}

// marin-community/marin#8925
TEST(Capacity, GangThatNoRackHoldsUsesTwo) {
  Story story(cluster_of_minipods({4, 4}));
  story.add({.name = "x", .nodes = 2, .predicted = 100, .runs = 100});
  story.add({.name = "y", .nodes = 3, .predicted = 100, .runs = 100});
  story.add({.name = "gang", .submit = 1, .nodes = 3, .predicted = 10, .runs = 10});
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.start("gang"), 1);
  EXPECT_EQ(told.minipods("gang"), "ab");
  EXPECT_DOUBLE_EQ(told.runs("gang")[0].objective, 2);
}

// kai-scheduler#1969, volcano#748, #3095, #2235, ROCm/spur#732
TEST(Backfill, LargeGangIsNotOvertakenForEver) {
  Story story(cluster_of_minipods({4}));
  for (int i = 0; i < 40; ++i) {
    story.add({.name = numbered("small", i), .submit = i * 5, .nodes = 2, .predicted = 12, .runs = 12});
  }
  story.add({.name = "large", .submit = 7, .nodes = 4, .predicted = 10, .runs = 10});
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.start("large"), 17) << "the small ones that ran at 7 are gone at 17, no other came between";
}

// volcano#4368
TEST(Fragmentation, SmallJobsShareHostsInsteadOfScattering) {
  Story story(cluster_of_minipods({4, 4}));
  for (int i = 0; i < 8; ++i) {
    story.add({.name = numbered("s", i), .gpus = 1, .predicted = 100, .runs = 100});
  }
  story.add({.name = "gang", .submit = 1, .nodes = 7, .predicted = 10, .runs = 10});
  const auto told = story.tell(kEasy);
  EXPECT_EQ(told.start("gang"), 1) << "eight small jobs fill one host";
}

// volcano#3291
TEST(Preemption, CountsTheHostThatIsIdleAlready) {
  Story story(cluster_of_minipods({2}));
  story.add({.name = "low", .predicted = 100, .runs = 100, .preemptible = true});
  story.add({.name = "gang", .submit = 1, .nodes = 2, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("gang"), 1);
  EXPECT_EQ(told.preemptions(), 1);
}

// volcano#2337, #3567, #1720
TEST(Preemption, NeedsHigherPriorityAndRespectsLeastRunTimes) {
  Story story(cluster_of_minipods({2}));
  story.add(
      {.name = "low", .nodes = 2, .predicted = 100, .runs = 100, .preemptible = true, .min_runtime = 15});
  story.add({.name = "equal", .submit = 1, .nodes = 2, .predicted = 10, .runs = 10});
  story.add({.name = "high", .submit = 2, .nodes = 2, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("high"), 15);
  EXPECT_EQ(told.start("equal"), 125) << "low, submitted earlier, starts anew before it";
}

// SchedMD/slurm PR#203
TEST(Preemption, OneArrivalPreemptsOnce) {
  Story story(cluster_of_minipods({4, 4}));
  for (int i = 0; i < 4; ++i) {
    story.add({.name = numbered("low", i), .nodes = 2, .predicted = 300, .runs = 300, .preemptible = true});
  }
  for (int i = 0; i < 3; ++i) {
    story.add({.name = numbered("noise", i), .submit = 11 + i, .gpus = 1, .predicted = 1, .runs = 1});
  }
  story.add({.name = "high", .submit = 10, .nodes = 4, .predicted = 20, .runs = 20, .priority = 1});
  const auto told = story.tell({.policy = Policy::kReserve, .age = 0, .grace = 180});
  EXPECT_EQ(told.start("high"), 13);
  EXPECT_EQ(told.preemptions(), 2) << "events during the grace do not choose new victims";
}

// Two ways to a requeue, one cost: what was saved is not done again.
TEST(Preemption, RequeuedGangGoesOnFromItsCheckpoint) {
  Story story(cluster_of_minipods({2}));
  story.add({.name = "low",
             .nodes = 2,
             .predicted = 60,
             .runs = 60,
             .preemptible = true,
             .checkpoint = 10,
             .restart = 2});
  story.add({.name = "high", .submit = 25, .nodes = 2, .predicted = 10, .runs = 10, .priority = 1});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.end("high"), 35);
  EXPECT_EQ(told.end("low"), 35 + 2 + 40) << "20 of 25 minutes were saved";
  EXPECT_EQ(told.runs("low")[0].lost, 5 * 60);
}

TEST(Grids, GangWithAGridGetsItsBlocks) {
  Story story(cluster_of_minipods({4, 4, 4, 4}));
  story.add({.name = "gang", .nodes = 16, .predicted = 10, .runs = 10, .grid = {.rows = 4, .columns = 4}});
  const auto told = story.tell(kEasy);
  const RunRecord run = told.runs("gang")[0];
  EXPECT_DOUBLE_EQ(run.objective, 2.0) << "2 x 2 blocks: a row and a column touch two minipods each";
  EXPECT_DOUBLE_EQ(run.bound, 2.0);
  const auto minipod = [&](int row, int column) {
    return told.cluster
        .minipod[static_cast<std::size_t>(run.hosts[static_cast<std::size_t>(row * 4 + column)])];
  };
  for (int i = 0; i < 4; ++i) {
    std::set<MinipodId> row;
    std::set<MinipodId> column;
    for (int j = 0; j < 4; ++j) {
      row.insert(minipod(i, j));
      column.insert(minipod(j, i));
    }
    EXPECT_EQ(row.size(), 2U);
    EXPECT_EQ(column.size(), 2U);
  }
}

TEST(Zones, DeadHostIsReplacedInTheSameMinipod) {
  Story story(cluster_of_minipods({4, 4}));
  story.add({.name = "planned", .nodes = 3, .predicted = 60, .runs = 60, .arrival = 50});
  story.outage("b4", 10, 500);
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("planned"), 50);
  EXPECT_EQ(told.minipods("planned"), "b");
}

TEST(Zones, DeadHostWithoutASpareNearbyIsReplacedElsewhere) {
  Story story(cluster_of_minipods({4, 4}));
  story.add({.name = "planned", .nodes = 4, .predicted = 60, .runs = 60, .arrival = 50});
  story.outage("b4", 10, 500);
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("planned"), 50);
  EXPECT_EQ(told.minipods("planned"), "ab");
}

TEST(Zones, SecondPlannedJobDoesNotGetTheFirstOnesHosts) {
  Story story(cluster_of_minipods({4, 4}));
  story.add({.name = "one", .nodes = 4, .predicted = 60, .runs = 60, .arrival = 50});
  story.add({.name = "two", .nodes = 4, .predicted = 60, .runs = 60, .arrival = 60});
  story.add({.name = "three", .nodes = 8, .predicted = 60, .runs = 60, .arrival = 120});
  const auto told = story.tell(kReserve);
  EXPECT_EQ(told.start("one"), 50);
  EXPECT_EQ(told.start("two"), 60);
  EXPECT_EQ(told.start("three"), 120);
  EXPECT_NE(told.minipods("one"), told.minipods("two"));
}

TEST(Explain, SaysDomainByDomainWhyAJobWaits) {
  Story story(cluster_of_minipods({2, 2}));
  story.add({.name = "planned", .nodes = 2, .predicted = 60, .runs = 60, .arrival = 50});
  story.add({.name = "busy", .predicted = 30, .runs = 30});
  story.add({.name = "waits", .submit = 1, .nodes = 2, .predicted = 100, .runs = 100});
  std::vector<std::string> lines;
  story.outage("a2", 0, 500);
  story.observe([&](const Snapshot& snapshot, const Plan& plan) {
    if (lines.empty() && snapshot.now == 60 && plan.empty()) {
      lines = explain(snapshot, 2);
    }
  });
  const auto told = story.tell(kReserve);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "needs 2 hosts with 8 free GPUs for 6000 s");
  EXPECT_EQ(lines[1], "minipod a: 0 hosts fit, 1 busy (the first until 1740 s from now), 1 down");
  EXPECT_EQ(lines[2], "minipod b: 0 hosts fit, 2 held for job 'planned' in 2940 s, before it would end");
}

}  // namespace
}  // namespace rudder::sched
