// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TopographGraph, ReadsInstancesWithTheirLayers) {
  const TopologyFile file = must_read(R"({"instances": [
    {"id": "I34", "type": "H100", "network_layers": ["S3", "S1"], "attributes": {"nvlink": "x"}},
    {"id": "I21", "network_layers": ["S2", "S1", ""], "labels": {"id": "not this"}},
    {"id": "I22", "network_layers": ["S2", "S1"]}]})");
  EXPECT_EQ(file.format, TopologyFormat::kTopographGraph);
  EXPECT_THAT(outline(file.topology), ElementsAre("S1/S2: I21 I22", "S1/S3: I34"));
}

TEST(TopographGraph, SaysTheElementAndValueOfEachFault) {
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "network_layers": ["l", "s"]},
                                         {"id": "b", "network_layers": ["l", "t"]}]})"),
              HasSubstr("instances[1]: switch 'l' hangs on both 's' and 't'"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "network_layers": ["l"]},
                                         {"id": "a", "network_layers": ["l"]}]})"),
              HasSubstr("instances[1]: host 'a' is listed twice"));
  EXPECT_THAT(error_of(R"({"instances": [{"network_layers": ["l"]}]})"),
              HasSubstr("instances[0]: an instance without an id"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "network_layers": "l"}]})"), HasSubstr("is no list"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "network_layers": [1]}]})"), HasSubstr("no text"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a b", "network_layers": ["l"]}]})"),
              HasSubstr("'a b' cannot be"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "network_layers": ["x", "y", "x"]}]})"),
              HasSubstr("instances[0]: the switches form a cycle"));
  EXPECT_THAT(error_of(R"({"instances": {}})"), HasSubstr("expected {\"instances\""));
  EXPECT_THAT(error_of("{\"instances\": [\n{\"id\": \"a\",,}]}"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(R"({"instances": [{"id": "a", "id": "b"}]})"), HasSubstr("key 'id' occurs twice"));
  EXPECT_THAT(error_of("{\n\n" + std::string(1'000'000, '[')), HasSubstr("line 3"));
  EXPECT_THAT(error_of("{\"instances\": [\n{\"id\":\n\n1e999}]}"), HasSubstr("line 4: number overflow"));
  EXPECT_THAT(error_of("{\"instances\": [\n{\"id\": \"a\",\n \"id\": \"b\"}]}"),
              HasSubstr("line 3: key 'id' occurs twice"));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("line 1: nests more than 64 deep"));
  EXPECT_THAT(error_of("{\"instances\": [], \"x\": " + std::string(100, '[')),
              HasSubstr("nests more than 64 deep"));
}

TEST(TopographGraph, UnknownDomainsAreAnErrorUnlessTold) {
  constexpr std::string_view kText =
      R"({"instances": [{"id": "a", "network_layers": ["l"]}, {"id": "b"}, {"id": "c", "network_layers": []}]})";
  EXPECT_THAT(error_of(kText), HasSubstr("nothing says where host 'b' is"));
  const TopologyFile singles =
      must_read(kText, {.unknown = UnknownDomain::kSingleton, .label_keys = {}, .topology_name = ""});
  EXPECT_THAT(outline(singles.topology), ElementsAre("l: a", "unknown:b: b", "unknown:c: c"));
  EXPECT_THAT(singles.unknown_hosts, ElementsAre("b", "c"));
  const TopologyFile skipped =
      must_read(kText, {.unknown = UnknownDomain::kSkip, .label_keys = {}, .topology_name = ""});
  EXPECT_THAT(outline(skipped.topology), ElementsAre("l: a"));
}

TEST(TopographModel, ReadsSwitchesAsAMap) {
  const TopologyFile file = must_read(R"(switches:
  S1:
    switches:
    - S2
    - S3
  S2:
    nodes:
    - I21
    - I25
  S3:
    nodes: ["I[34-35]"]
nodes:
  I21:
    capacity_block: CB2
    attributes: {nvlink: CB2}
capacity_blocks:
  CB2:
    nodes: ["I21", "I25"]
)");
  EXPECT_EQ(file.format, TopologyFormat::kTopographModel);
  EXPECT_THAT(outline(file.topology), ElementsAre("S1/S2: I21 I25", "S1/S3: I34 I35"));
}

TEST(TopographModel, ReadsSwitchesAsAListWithCapacityBlocks) {
  const TopologyFile file = must_read(R"(switches:
- name: sw3
  metadata: {region: us-west}
  switches: [sw11,sw12]
- name: sw11
  capacity_blocks: [cb11]
- name: sw12
  capacity_blocks: [cb12]
capacity_blocks:
- name: cb11
  nodes: [n11-1,n11-2]
- name: cb12
  nodes: [n12-1]
- name: cb13
  nodes: [n13-1]
)");
  EXPECT_THAT(outline(file.topology), ElementsAre("cb13: n13-1", "sw3/sw11: n11-1 n11-2", "sw3/sw12: n12-1"));
}

TEST(TopographModel, ReadsBlocksThatNameTheirSwitch) {
  const TopologyFile file = must_read(R"(switches:
  core:
    labels: {topology.kubernetes.io/region: us-east}
    switches: [leaf-1, leaf-2]
blocks:
- switch: leaf-1
  nodes: ["node[1101-1102]"]
- switch: leaf-2
  nodes: ["[1201-1202]"]
)");
  EXPECT_THAT(outline(file.topology),
              ElementsAre("core/leaf-1: node1101 node1102", "core/leaf-2: 1201 1202"));
}

TEST(TopographModel, SaysLineAndValueOfEachFault) {
  EXPECT_THAT(error_of("switches:\n  a: {nodes: [n1]}\n  b:\n    nodes: [n1]\n"),
              HasSubstr("line 4: host 'n1' is listed twice (first on line 2)"));
  EXPECT_THAT(error_of("switches:\n  a: {switches: [b]}\n  b: {switches: [a]}\n  c: {nodes: [n]}\n"),
              HasSubstr("line 2: the switches form a cycle"));
  EXPECT_THAT(error_of("switches:\n- {nodes: [a]}\n"),
              HasSubstr("line 2: an entry of 'switches' has no name"));
  EXPECT_THAT(error_of("blocks: {a: {nodes: [n1]}}\n"), HasSubstr("line 1: 'blocks' is no list"));
  EXPECT_THAT(error_of("switches: 7\n"), HasSubstr("line 1: 'switches' is neither"));
  EXPECT_THAT(error_of("switches:\n  a: {capacity_blocks: [x]}\n"),
              HasSubstr("line 2: no capacity block 'x'"));
  EXPECT_THAT(error_of("nodes:\n  a: {}\n"), HasSubstr("line 2: nothing says where host 'a' is"));
}

constexpr std::string_view kNodes = R"({"apiVersion": "v1", "kind": "List", "items": [
  {"kind": "Node", "metadata": {"name": "ip-10-0-0-2", "labels": {"kubernetes.io/hostname": "n2",
     "fabric.topograph.run/tier-0": "leaf1", "fabric.topograph.run/tier-1": "spine1"}},
   "spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
  {"kind": "Node", "metadata": {"name": "n1", "labels": {
     "fabric.topograph.run/tier-0": "leaf1", "fabric.topograph.run/tier-1": "spine1"}},
   "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
  {"kind": "Node", "metadata": {"name": "n3", "labels": {"network.topology.nvidia.com/leaf": "leaf9",
     "network.topology.nvidia.com/spine": "spine9"}},
   "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "images": [{"names": ["x"]}]}},
  {"kind": "Node", "metadata": {"name": "n4", "labels": {"topology.kubernetes.io/zone": "z1"}}}]})";

TEST(Kubernetes, ReadsTierLabelsThenOlderOnesThenZones) {
  const TopologyFile file = must_read(kNodes);
  EXPECT_EQ(file.format, TopologyFormat::kKubernetes);
  EXPECT_THAT(outline(file.topology), ElementsAre("z1: n4", "spine1/leaf1: n1 n2", "spine9/leaf9: n3"));
  EXPECT_EQ(file.topology.hosts[0].state, HostState::kDown);  // not ready
  EXPECT_EQ(file.topology.hosts[1].state, HostState::kDown);  // cordoned
  EXPECT_EQ(file.topology.hosts[2].state, HostState::kFree);
}

TEST(Kubernetes, LabelKeysCanBeChosenAndRacksMayShareNamesAcrossZones) {
  constexpr std::string_view kRacks = R"({"items": [
    {"metadata": {"name": "a", "labels": {"zone": "z1", "rack": "r1"}}},
    {"metadata": {"name": "b", "labels": {"zone": "z2", "rack": "r1"}}},
    {"metadata": {"name": "c", "labels": {"zone": "z2", "rack": "r2"}}}]})";
  const TopologyFile file = must_read(kRacks, {.label_keys = {"zone", "rack"}, .topology_name = ""});
  EXPECT_THAT(outline(file.topology), ElementsAre("z1/z1/r1: a", "z2/r2: c", "z2/z2/r1: b"));
  EXPECT_THAT(error_of(kRacks, {.label_keys = {"zone", "row"}, .topology_name = ""}), HasSubstr("host 'a'"));
  EXPECT_THAT(error_of(R"({"items": [{"metadata": {}}]})"),
              HasSubstr("items[0]: a node without metadata.name"));
  EXPECT_THAT(error_of(R"({"items": [{"metadata": {"name": "a", "labels": {"z": "x/y"}}}]})",
                       {.label_keys = {"z"}, .topology_name = ""}),
              HasSubstr("'x/y' cannot be one domain"));
}

TEST(HostList, ReadsHostsWithAndWithoutPaths) {
  const TopologyFile file = must_read("n[1-2] core/a # first\n\nn3 core/b\n");
  EXPECT_EQ(file.format, TopologyFormat::kHostList);
  EXPECT_THAT(outline(file.topology), ElementsAre("core/a: n1 n2", "core/b: n3"));
  const TopologyFile flat = must_read("n1\nn2\r\n");
  EXPECT_THAT(outline(flat.topology), ElementsAre("cluster: n1 n2"));
  EXPECT_THAT(flat.remarks, ElementsAre(HasSubstr("one domain")));
  EXPECT_THAT(error_of("n1 a\nn2\n"), HasSubstr("line 2: nothing says where host 'n2' is"));
  EXPECT_THAT(error_of("n1 a\nn1 b\n"), HasSubstr("line 2: host 'n1' is listed twice (first on line 1)"));
  EXPECT_THAT(error_of("n1 a b\n"), HasSubstr("line 1: expected HOSTS"));
  EXPECT_THAT(error_of("n1 a//b\n"), HasSubstr("line 1: a switch has no name"));
  EXPECT_THAT(error_of("n1 " + std::string(300, '/') + "\n"),
              HasSubstr("line 1: host 'n1' is below 300 switches"));
}

TEST(Formats, AMillionHostsAreReadInSeconds) {
  std::string text;
  for (int pod = 0; pod < 1000; ++pod) {
    text += fmt::format("SwitchName=p{0} Nodes=p{0}n[0000-0999]\n", pod);
  }
  text += "SwitchName=core Switches=p[0-999]\n";
  const TopologyFile file = must_read(text);
  ASSERT_EQ(file.topology.hosts.size(), 1'000'000U);
  EXPECT_EQ(minipods(file.topology, 1).size(), 1000U);
}

TEST(Formats, ASwitchChainOfAHundredThousandIsNoTrouble) {
  std::string text = "SwitchName=s0 Nodes=n1\n";
  for (int i = 1; i < 100'000; ++i) {
    text += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  }
  const TopologyFile file = must_read(text);
  EXPECT_EQ(file.topology.switches.back().level, 99'999);
}

TEST(Formats, NamesAreFound) {
  EXPECT_EQ(topology_format_names().size(), 8U);
  for (const std::string& name : topology_format_names()) {
    const Result<TopologyFormat> format = topology_format_from_name(name);
    ASSERT_TRUE(format.ok());
    EXPECT_EQ(name_of(*format), name);
  }
  EXPECT_FALSE(topology_format_from_name("xml").ok());
  EXPECT_EQ(read_topology("/no/such/file").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace rudder::place
