// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> states(std::string_view text) {
  const Result<std::vector<NamedState>> list = parse_states("state.json", text);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  std::vector<std::string> lines;
  for (const NamedState& state : list.ok() ? *list : std::vector<NamedState>()) {
    lines.push_back(state.host + (state.state == HostState::kFree   ? " free"
                                  : state.state == HostState::kBusy ? " busy"
                                                                    : " down"));
  }
  return lines;
}

std::string state_failure(std::string_view text) {
  const Result<std::vector<NamedState>> list = parse_states("state.json", text);
  return list.ok() ? "none" : list.error().message;
}

TEST(States, ReadsSinfoOfSlurm2205) {
  EXPECT_THAT(states(R"({"meta": {"Slurm": {"version": {"major": 22}}}, "errors": [], "nodes": [
      {"name": "n1", "state": "idle", "state_flags": [], "partitions": ["p"], "cpus": 8},
      {"name": "n2", "state": "idle", "state_flags": ["DRAIN"]},
      {"name": "n3", "state": "allocated", "state_flags": []},
      {"name": "n4", "state": "mixed", "state_flags": ["PLANNED"]},
      {"name": "n5", "state": "down", "state_flags": ["NOT_RESPONDING"]}]})"),
              ElementsAre("n1 free", "n2 down", "n3 busy", "n4 busy", "n5 down"));
}

TEST(States, ReadsScontrolOfNewerSlurms) {
  EXPECT_THAT(
      states(R"({"nodes": [{"name": "n1", "state": ["IDLE"]}, {"name": "n2", "state": ["IDLE", "DRAIN"]},
      {"name": "n3", "state": ["IDLE", "CLOUD", "POWERED_DOWN"]}, {"name": "n4", "state": ["IDLE", "RESERVED"]},
      {"name": "n5", "state": ["IDLE", "DYNAMIC_NORM"]}, {"name": "n6", "state": ["INVENTED"]}]})"),
      ElementsAre("n1 free", "n2 down", "n3 down", "n4 busy", "n5 free", "n6 down"));
}

TEST(States, ReadsSinfoWithTheWorstOfSeveralPartitions) {
  EXPECT_THAT(states(R"({"sinfo": [
      {"node": {"state": ["IDLE"]}, "nodes": {"idle": 2, "hostnames": ["x"], "nodes": ["n1", "n2"]}},
      {"node": {"state": ["MIXED"]}, "nodes": {"nodes": ["n2"]}}]})"),
              ElementsAre("n1 free", "n2 busy"));
}

TEST(States, ReadsScontrolsText) {
  EXPECT_THAT(states("NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n   OS=Linux 6.1 #1 SMP\n   State=IDLE "
                     "ThreadsPerCore=1\n"
                     "   Reason=x State=DOWN\n\nNodeName=n2 CPUAlloc=2 State=MIXED+DRAIN Weight=1\n"
                     "NodeName=n3 State=ALLOCATED\n"),
              ElementsAre("n1 free", "n2 down", "n3 busy"));
  EXPECT_THAT(state_failure("NodeName=n1 CPUAlloc=2\nNodeName=n2 State=IDLE\n"),
              HasSubstr("state.json: line 1: node 'n1' has no State="));
}

TEST(States, ReadsLists) {
  EXPECT_THAT(
      states("n[1-2]\nn3 idle*\nn4 allocated # job 7\nn5 mix-\nn6 idle~\nn7 IDLE+DRAIN\nn8 idle-\n"),
      ElementsAre("n1 free", "n2 free", "n3 down", "n4 busy", "n5 busy", "n6 down", "n7 down", "n8 busy"));
}

TEST(States, SaysThePlaceAndValueOfEachFault) {
  EXPECT_THAT(state_failure(R"({"nodes": [{"name": "n1"}]})"),
              HasSubstr("state.json: nodes[0]: a node without a state"));
  EXPECT_THAT(state_failure(R"({"nodes": [{"state": "idle"}]})"),
              HasSubstr("nodes[0]: a node without a name"));
  EXPECT_THAT(state_failure(R"({"nodes": [{"name": "n", "state": 7}]})"),
              HasSubstr("nodes[0]: a node without a state"));
  EXPECT_THAT(state_failure(R"({"nodes": 7})"), HasSubstr("expected \"nodes\" or \"sinfo\""));
  EXPECT_THAT(state_failure(R"({"sinfo": [{"node": {"state": ["IDLE"]}}]})"),
              HasSubstr("sinfo[0]: an entry without nodes"));
  EXPECT_THAT(state_failure("{\"nodes\": [\n\n}"), HasSubstr("line 3"));
  EXPECT_THAT(state_failure("n1 idle really\n"), HasSubstr("line 1: expected HOSTS [STATE]"));
  EXPECT_THAT(state_failure("n1 idle\nn[2-8] idel\n"),
              HasSubstr("line 2: 'IDEL' is no state of a node; did you mean 'IDLE'?"));
  EXPECT_THAT(state_failure("n1 idle+zzzzzz\n"), HasSubstr("line 1: 'ZZZZZZ' is no state of a node"));
  EXPECT_THAT(state_failure("n1 idle*\nn2 drain+\nn3 mixed-\nn4 down~\nn5 IDLE+DRAIN+MAINT\n"),
              HasSubstr("none"));
  EXPECT_THAT(state_failure("\nn[1-9999999]\n"), HasSubstr("line 2: host list: more than"));
  EXPECT_THAT(state_failure("{" + std::string(100'000, '[')), HasSubstr("state.json: "));
}

TEST(States, PlacesAreTheFirstMention) {
  const auto place_of_second = [](std::string_view text) {
    const Result<std::vector<NamedState>> list = parse_states("state.json", text);
    return list.ok() && list->size() == 2 ? list->back().place : "not two";
  };
  EXPECT_EQ(place_of_second("# nodes\nn1\nn2 idle\nn2 down\n"), "line 3");
  EXPECT_EQ(
      place_of_second(R"({"nodes": [{"name": "n1", "state": "idle"}, {"name": "n2", "state": "idle"}]})"),
      "nodes[1]");
  EXPECT_EQ(place_of_second("NodeName=n1 State=IDLE\nNodeName=n2 State=IDLE\n"), "line 2");
}

TEST(States, AByteOrderMarkIsNoPartOfThem) {
  EXPECT_THAT(states("\xef\xbb\xbfn1 idle\n"), ElementsAre("n1 free"));
  EXPECT_THAT(states("\xef\xbb\xbfNodeName=n1 State=IDLE\n"), ElementsAre("n1 free"));
  EXPECT_THAT(states("\xef\xbb\xbf"
                     R"({"nodes": [{"name": "n1", "state": "idle"}]})"),
              ElementsAre("n1 free"));
}

TEST(ApplyStates, UnnamedHostsAreDownAndStrangersAnError) {
  TopologyFile file = must_read("n[1-4] a\n");
  const std::vector<NamedState> list = {
      {"n2", HostState::kFree}, {"n10", HostState::kFree, "line 7"}, {"n3", HostState::kBusy}};
  const Result<StateReport> refused = apply_states(file.topology, list);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "line 7: 1 hosts with a state are not in the topology, first 'n10'");
  const Result<StateReport> report = apply_states(file.topology, list, Strangers::kCount);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->strangers, ElementsAre("n10"));
  EXPECT_THAT(report->not_in_state, ElementsAre("n1", "n4"));
  EXPECT_EQ(report->free, 1);
  EXPECT_EQ(report->busy, 1);
  EXPECT_EQ(report->down, 2);
  EXPECT_EQ(file.topology.hosts[0].state, HostState::kDown);
  EXPECT_EQ(file.topology.hosts[1].state, HostState::kFree);
}

}  // namespace
}  // namespace rudder::place
