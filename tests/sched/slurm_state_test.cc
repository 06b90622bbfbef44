// SPDX-License-Identifier: Apache-2.0
// What Slurm's commands print, read: as 22.05 does it, as newer versions do, and broken.
#include "rudder/sched/slurm_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::sched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Squeue, ReadsAPendingJobOf2205) {
  const auto jobs = parse_squeue(R"({"meta": {}, "errors": [], "jobs": [
    {"account": "", "array_job_id": 0, "comment": "rudder: shape=4x1", "admin_comment": "", "dependency": "",
     "eligible_time": 0, "het_job_id": 0, "job_id": 7, "job_state": "PENDING", "name": "job.sh", "nodes": "",
     "node_count": 4, "tasks": 8, "partition": "main", "priority": 0, "required_nodes": "b2,a[1-2],b1",
     "requeue": true, "restart_cnt": 0, "resv_name": "", "start_time": 0, "state_reason": "JobHeldUser",
     "submit_time": 1796001309, "time_limit": 10, "user_name": "root"}]})");
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1U);
  const SlurmJob& job = jobs->front();
  EXPECT_EQ(job.id, 7);
  EXPECT_EQ(job.phase, SlurmPhase::kPending);
  EXPECT_TRUE(job.held);
  EXPECT_TRUE(job.requeue);
  EXPECT_FALSE(job.composite);
  EXPECT_EQ(job.nodes, 4);
  EXPECT_EQ(job.tasks, 8);
  EXPECT_EQ(job.limit, 600);
  EXPECT_EQ(job.submit, 1796001309);
  EXPECT_THAT(job.required, ElementsAre("b2", "a1", "a2", "b1"));
}

TEST(Squeue, ReadsNewerSpellings) {
  const auto jobs = parse_squeue(R"({"jobs": [
    {"job_id": 9, "job_state": ["RUNNING", "COMPLETING"], "nodes": "n[1-2]", "hold": false,
     "node_count": {"set": true, "infinite": false, "number": 2},
     "time_limit": {"set": true, "infinite": true, "number": 0},
     "priority": {"set": true, "infinite": false, "number": 17},
     "array_job_id": {"set": true, "infinite": false, "number": 0}},
    {"job_id": 3, "job_state": ["PENDING"], "hold": true, "priority": {"set": true, "infinite": false, "number": 5},
     "array_job_id": {"set": true, "infinite": false, "number": 3}}]})");
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ(jobs->at(0).id, 3);
  EXPECT_TRUE(jobs->at(0).held);
  EXPECT_TRUE(jobs->at(0).composite);
  EXPECT_EQ(jobs->at(1).phase, SlurmPhase::kCompleting);
  EXPECT_FALSE(jobs->at(1).held);
  EXPECT_EQ(jobs->at(1).nodes, 2);
  EXPECT_EQ(jobs->at(1).limit, kNever);
  EXPECT_THAT(jobs->at(1).hosts, ElementsAre("n1", "n2"));
}

TEST(Squeue, OneClearErrorForWhatIsNoListOfJobs) {
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string, const char*>>{
           {"", "squeue --json"},
           {"{}", "no array \"jobs\""},
           {R"({"jobs": {}})", "no array \"jobs\""},
           {R"({"jobs": [{}]})", "jobs[0] has no \"job_id\""},
           {R"({"jobs": [7]})", "jobs[0] has no \"job_id\""},
           {R"({"jobs": [{"job_id": 1}]})", "job 1: has no \"job_state\""},
           {R"({"jobs": [{"job_id": 1, "job_state": "PENDING", "node_count": -4}]})", "\"node_count\" is -4"},
           {R"({"jobs": [{"job_id": 1, "job_state": "PENDING", "node_count": "4"}]})",
            "\"node_count\" is \"4\""},
           {R"({"jobs": [{"job_id": 1, "job_state": "PENDING", "submit_time": 99999999999999999999}]})",
            "submit_time"},
           {R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", "nodes": "n[1-"}]})", "job 1"},
           {R"({"jobs": [{"job_id": 1, "job_state": "PENDING"}, {"job_id": 1, "job_state": "PENDING"}]})",
            "twice"},
           {R"({"errors": [{"error": "Unable to contact slurm controller"}], "jobs": []})",
            "Unable to contact"},
           {std::string(100'000, '['), "squeue --json"}}) {
    const auto jobs = parse_squeue(text);
    ASSERT_FALSE(jobs.ok()) << text.substr(0, 80);
    EXPECT_THAT(jobs.error().message, HasSubstr(expected));
    EXPECT_LT(jobs.error().message.size(), 400U);
  }
}

TEST(Sinfo, KeptIdleIsIdle) {
  const auto nodes =
      parse_sinfo("n1 idle\nn2 reserved\nn3 planned\nn4 allocated\nn5 drained\nn6 idle*\nn7 mixed\n");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  std::vector<SlurmNodeUse> uses;
  for (const SlurmNode& node : *nodes) {
    uses.push_back(node.use);
  }
  using enum SlurmNodeUse;
  EXPECT_THAT(uses, ElementsAre(kIdle, kIdle, kIdle, kTaken, kDown, kDown, kTaken));
}

TEST(Reservations, AreReadAndNamed) {
  const auto all = parse_reservations(
      "ReservationName=rudder-9 StartTime=100 EndTime=700 Duration=00:10:00 Nodes=gpu-a[02,10],gpu-a1 "
      "NodeCnt=3 "
      "Flags=FLEX Users=root,ann Groups=(null)\n"
      "ReservationName=licence StartTime=1 EndTime=2 Nodes=(null) Users=root\n");
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().start, 100);
  EXPECT_EQ(all->front().end, 700);
  EXPECT_THAT(all->front().nodes, ElementsAre("gpu-a1", "gpu-a02", "gpu-a10"));
  EXPECT_THAT(all->front().users, ElementsAre("ann", "root"));
  EXPECT_TRUE(parse_reservations("No reservations in the system\n")->empty());
  for (const char* wrong : {"hello\n", "ReservationName=x StartTime=2026-11-30T01:16:25 EndTime=9 Nodes=a\n",
                            "ReservationName=x StartTime=9 EndTime=3 Nodes=a\n",
                            "ReservationName=x StartTime=1 EndTime=3 Nodes=a[1-\n"}) {
    const auto none = parse_reservations(wrong);
    ASSERT_FALSE(none.ok()) << wrong;
    EXPECT_THAT(none.error().message, HasSubstr("scontrol show reservation:1"));
  }
}

TEST(SlurmTopology, TreesBlocksAndNone) {
  const auto tree = parse_slurm_topology(
      "SwitchName=a Level=0 LinkSpeed=1 Nodes=n1,n3\nSwitchName=b Level=0 LinkSpeed=1 Nodes=n2\n"
      "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=a,b\n",
      {});
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->hosts.size(), 3U);
  EXPECT_EQ(place::minipods(*tree, 1).size(), 2U);
  const auto blocks = parse_slurm_topology(
      "BlockName=b1 BlockIndex=0 Nodes=n1,n2 BlockSize=2\n"
      "BlockName=b2 BlockIndex=1 Nodes=n3 BlockSize=2\n"
      "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-3] BlockSize=4\n",
      {});
  ASSERT_TRUE(blocks.ok()) << blocks.error().message;
  EXPECT_EQ(place::minipods(*blocks, place::default_minipod_level(*blocks)).size(), 2U);
  const auto none = parse_slurm_topology("", {{.name = "n1"}, {.name = "n2"}});
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_EQ(place::minipods(*none, place::default_minipod_level(*none)).size(), 1U);
}

TEST(SlurmTopology, ErrorsNameTheLine) {
  for (const char* wrong :
       {"gibberish\n", "SwitchName=a Nodes=n[1-\n", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n",
        "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
        "SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n"}) {
    const auto topology = parse_slurm_topology(wrong, {});
    ASSERT_FALSE(topology.ok()) << wrong;
    EXPECT_THAT(topology.error().message, HasSubstr("scontrol show topology"));
  }
}

}  // namespace
}  // namespace rudder::sched
