// SPDX-License-Identifier: Apache-2.0
// The engine for Slurm over a Slurm in memory: what it asks for, and that a planner may die before any
// command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/fake_slurm.h"

namespace rudder::sched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::FakeJob;
using testing_support::FakeSlurm;

constexpr const char* kTopology =
    "SwitchName=left Level=0 LinkSpeed=1 Nodes=n1,n3,n5,n7\n"
    "SwitchName=right Level=0 LinkSpeed=1 Nodes=n2,n4,n6,n8\n"
    "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=left,right\n";

FakeSlurm eight_nodes() {
  FakeSlurm slurm({"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"});
  slurm.topology = kTopology;
  return slurm;
}

/// One planner's life: a cycle by a process that knows nothing of earlier ones.
Status one_cycle(FakeSlurm& slurm, SlurmOptions options = {}) {
  RUDDER_ASSIGN(const auto engine, SlurmEngine::open(options, slurm.runner(), slurm.clock(), std::nullopt));
  Planner planner({.grace = options.grace});
  RUDDER_TRY(engine->cycle(planner));
  return engine->failures() == 0 ? Status() : Status(Error{Errc::kPeer, "commands failed"});
}

FakeJob gang(std::int32_t nodes, const char* comment, Time work = 60) {
  FakeJob job;
  job.nodes = nodes;
  job.comment = comment;
  job.work = work;
  return job;
}

TEST(SlurmEngine, StartsAGangInRankOrder) {
  for (const bool by_column : {true, false}) {
    FakeSlurm slurm = eight_nodes();
    slurm.submit(
        gang(8, by_column ? "rudder: shape=4x2 alpha=0.3" : "rudder: shape=4x2 alpha=0.3 order=row-major"));
    ASSERT_TRUE(one_cycle(slurm).ok());
    ASSERT_EQ(slurm.given.size(), 2U);
    EXPECT_EQ(slurm.given[1], "scontrol release 1");
    const std::vector<std::string> ranks = place::expand_hostlist(slurm.jobs[1].required).value();
    ASSERT_EQ(ranks.size(), 8U);
    // Pipelines inside switches, which odd and even names tell apart: ranks r and r + 4, or 2r and 2r + 1.
    for (std::size_t row = 0; row < 4; ++row) {
      const std::string& first = ranks[by_column ? row : 2 * row];
      const std::string& second = ranks[by_column ? row + 4 : 2 * row + 1];
      EXPECT_EQ(first.back() % 2, second.back() % 2) << first << " " << second;
    }
    EXPECT_THAT(slurm.jobs[1].admin, HasSubstr("placed J=1.3 bound=1.3"));
  }
}

TEST(SlurmEngine, SecondCycleHasNothingToDo) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(3, "rudder: shape=3x1"));
  slurm.submit(gang(2, "rudder: planned=1000600"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.given.clear();
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
  slurm.tick();
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
}

TEST(SlurmEngine, OthersJobsAreNeitherMovedNorCounted) {
  FakeSlurm slurm = eight_nodes();
  FakeJob stranger = gang(4, "no mark");
  stranger.held = false;
  stranger.required = "n1,n2,n3,n4";
  slurm.submit(stranger);
  slurm.tick();
  ASSERT_EQ(slurm.jobs[1].state, "RUNNING");
  slurm.submit(gang(6, "rudder: priority=100"));
  slurm.submit(gang(2, "a comment of its own"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
}

TEST(SlurmEngine, JobsWithoutRequeueAreNoVictims) {
  for (const bool requeue : {true, false}) {
    FakeSlurm slurm = eight_nodes();
    FakeJob low = gang(8, "rudder: preemptible");
    low.requeue = requeue;
    slurm.submit(low);
    ASSERT_TRUE(one_cycle(slurm).ok());
    slurm.tick();
    slurm.submit(gang(8, "rudder: priority=5"));
    ASSERT_TRUE(one_cycle(slurm).ok());
    EXPECT_EQ(slurm.jobs[1].state, requeue ? "COMPLETING" : "RUNNING");
  }
}

TEST(SlurmEngine, ForeignReservationsAreKeptClear) {
  FakeSlurm slurm = eight_nodes();
  slurm.reservations["maintenance"] = {.name = "maintenance",
                                       .start = slurm.now + 100,
                                       .end = slurm.now + 1000,
                                       .nodes = {"n1", "n2", "n3", "n4", "n5"},
                                       .users = {"root"}};
  FakeJob brief = gang(5, "rudder:");
  brief.minutes = 1;
  slurm.submit(gang(4, "rudder:"));
  slurm.submit(brief);
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.tick();
  EXPECT_EQ(slurm.jobs[1].state, "PENDING");
  EXPECT_EQ(slurm.jobs[2].state, "RUNNING");
  EXPECT_TRUE(slurm.reservations.contains("maintenance"));
}

TEST(SlurmEngine, WhoIsInAZoneOnItsEstimateNamesTheReservationWhileItStarts) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(8, "rudder: planned=1000100"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  FakeJob guest = gang(2, "rudder: estimate=30");
  guest.user = "bob";
  slurm.submit(guest);
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_EQ(slurm.jobs[2].reservation, "rudder-1");
  EXPECT_THAT(slurm.reservations["rudder-1"].users, ElementsAre("ann", "bob"));
  slurm.tick();
  ASSERT_EQ(slurm.jobs[2].state, "RUNNING");
  ASSERT_TRUE(one_cycle(slurm).ok());
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_EQ(slurm.jobs[2].reservation, "");
  EXPECT_THAT(slurm.reservations["rudder-1"].users, ElementsAre("ann"));
}

TEST(SlurmEngine, NobodyIsLetIntoTwoZones) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(4, "rudder: shape=2x2 planned=1000100"));
  slurm.submit(gang(4, "rudder: shape=2x2 planned=1000100"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  ASSERT_EQ(slurm.reservations.size(), 2U);
  slurm.given.clear();
  const JobId wide = slurm.submit(gang(8, "rudder: estimate=30"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
  EXPECT_TRUE(slurm.jobs[wide].held);
  // One whose limit ends in time needs no reservation's leave.
  FakeJob brief = gang(8, "rudder:");
  brief.minutes = 1;
  const JobId fits = slurm.submit(brief);
  slurm.jobs[wide].reason = "JobHeldAdmin";
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.tick();
  EXPECT_EQ(slurm.jobs[fits].state, "RUNNING");
}

TEST(SlurmEngine, ANodeListThatIsNotThePlannersIsNoPlan) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(2, "rudder: planned=1000600"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  const std::vector<std::string> before = slurm.reservations["rudder-1"].nodes;
  slurm.jobs[1].required = before == std::vector<std::string>{"n1", "n3"} ? "n2,n4" : "n1,n3";
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_EQ(slurm.reservations["rudder-1"].nodes, before);
}

TEST(SlurmEngine, ALostHostOfAReleasedGangIsReplacedAndTheOthersStay) {
  for (const char* comment : {"rudder:", "rudder: shape=3x1", "rudder: shape=1x3 order=row-major"}) {
    SCOPED_TRACE(comment);
    FakeSlurm slurm = eight_nodes();
    slurm.submit(gang(3, comment));
    ASSERT_TRUE(one_cycle(slurm).ok());
    const std::vector<std::string> before = place::expand_hostlist(slurm.jobs[1].required).value();
    slurm.drained.insert(before[1]);
    ASSERT_TRUE(one_cycle(slurm).ok());
    const std::vector<std::string> after = place::expand_hostlist(slurm.jobs[1].required).value();
    EXPECT_EQ(after[0], before[0]);
    EXPECT_NE(after[1], before[1]);
    EXPECT_EQ(after[1].back() % 2, before[1].back() % 2) << "in another switch: " << after[1];
    EXPECT_EQ(after[2], before[2]);
    slurm.tick();
    EXPECT_EQ(slurm.jobs[1].state, "RUNNING");
  }
}

TEST(SlurmEngine, AGangWithoutAHostForEachIsHeldUntilThereIsOne) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(8, "rudder: shape=4x2"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.drained.insert("n3");
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_TRUE(slurm.jobs[1].held);
  slurm.drained.clear();
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.tick();
  EXPECT_EQ(slurm.jobs[1].state, "RUNNING");
}

TEST(SlurmEngine, AGangThatLostANodeStartsAgainSoonButNeverWhileItsCredentialIsVoid) {
  for (const bool comes_back : {false, true}) {
    SCOPED_TRACE(comes_back ? "the node comes back" : "the node is replaced");
    FakeSlurm slurm = eight_nodes();
    slurm.submit(gang(3, "rudder: shape=3x1"));
    ASSERT_TRUE(one_cycle(slurm).ok());
    slurm.tick();
    ASSERT_EQ(slurm.jobs[1].state, "RUNNING");
    slurm.fail(slurm.jobs[1].hosts[1]);
    if (comes_back) {
      slurm.drained.clear();
    }
    const Time failed = slurm.now;
    while (slurm.jobs[1].state == "PENDING" && slurm.now < failed + 60) {
      ASSERT_TRUE(one_cycle(slurm).ok());
      slurm.tick();
    }
    EXPECT_EQ(slurm.jobs[1].state, "RUNNING");
    EXPECT_LE(slurm.jobs[1].start, failed + 10);
  }
}

TEST(SlurmEngine, WhatWaitsForItsTimeIsLeftAlone) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(2, "rudder: shape=2x1"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.tick();
  slurm.fail(slurm.jobs[1].hosts[0]);
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.given.clear();
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
}

TEST(SlurmEngine, AGangThatCannotStartIsHeldAndPlannedAnew) {
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(2, "rudder: shape=2x1"));
  ASSERT_TRUE(one_cycle(slurm).ok());
  // Somebody else was faster.
  FakeJob stranger = gang(1, "");
  stranger.state = "RUNNING";
  stranger.start = slurm.now;
  stranger.hosts = {place::expand_hostlist(slurm.jobs[1].required).value().front()};
  slurm.submit(stranger);
  ASSERT_TRUE(one_cycle(slurm).ok());
  slurm.tick();
  EXPECT_EQ(slurm.jobs[1].state, "RUNNING");
}

TEST(SlurmEngine, AnAdministratorsHoldIsNotLifted) {
  FakeSlurm slurm = eight_nodes();
  FakeJob job = gang(2, "rudder:");
  job.reason = "JobHeldAdmin";
  slurm.submit(job);
  ASSERT_TRUE(one_cycle(slurm).ok());
  EXPECT_THAT(slurm.given, ElementsAre());
}

/// A day in the life: a preemptible gang, a planned one, urgent ones, one that is wrong. Every planner makes
/// `lives` commands and dies; the next one knows only Slurm.
void story(int lives, Time grace) {
  SCOPED_TRACE(testing::Message() << "each planner dies after " << lives << " commands, grace " << grace);
  FakeSlurm slurm = eight_nodes();
  slurm.submit(gang(8, "rudder: shape=4x2 preemptible", 20));
  slurm.submit(gang(4, "rudder: shape=2x2 planned=1000030", 10));
  std::set<JobId> expected = {1, 2};
  for (int second = 0; second < 200; ++second) {
    if (second == 5 || second == 6) {
      expected.insert(slurm.submit(gang(2, "rudder: priority=10", 10)));
      slurm.submit(gang(3, "rudder: shape=2x2"));
    }
    slurm.lives = lives;
    static_cast<void>(one_cycle(slurm, {.grace = grace}));
    slurm.lives = -1;
    slurm.tick();
    std::set<std::string> used;
    for (const auto& [id, job] : slurm.jobs) {
      ASSERT_TRUE(job.hosts.empty() || job.hosts.size() == static_cast<std::size_t>(job.nodes))
          << "job " << id;
      for (const std::string& host : job.hosts) {
        ASSERT_TRUE(used.insert(host).second) << host << " is used twice at " << second;
      }
    }
  }
  for (const JobId id : expected) {
    EXPECT_EQ(slurm.jobs[id].state, "COMPLETED") << "job " << id << ": " << slurm.jobs[id].admin;
  }
  EXPECT_EQ(slurm.jobs[1].restarts, 2);  // for the urgent ones, and for the planned one
  EXPECT_TRUE(slurm.reservations.empty());
  EXPECT_GE(slurm.jobs[2].start, 1'000'030);
  EXPECT_LE(slurm.jobs[2].start, 1'000'050);
  EXPECT_THAT(slurm.jobs[4].admin, HasSubstr("rejected"));
}

TEST(SlurmEngine, PlannersMayDieAfterAnyCommand) {
  for (const Time grace : {Time{0}, Time{3}}) {
    // Two are needed to place and release a gang.
    for (const int lives : {2, 3, 4, 5, 7, -1}) {
      story(lives, grace);
    }
  }
}

}  // namespace
}  // namespace rudder::sched
