// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SlurmConf, ReadsATree) {
  const TopologyFile file = must_read(R"(# two leaves under one core
switchname=m2 Nodes=gpu-b[1-2]   # keywords in any case
SwitchName=m1 NODES="gpu-a[09-10]" LinkSpeed=100
SwitchName=core \
   Switches=m[1-2]
)");
  EXPECT_EQ(file.format, TopologyFormat::kSlurmConf);
  EXPECT_THAT(outline(file.topology), ElementsAre("core/m1: gpu-a09 gpu-a10", "core/m2: gpu-b1 gpu-b2"));
  EXPECT_EQ(default_minipod_level(file.topology), 1);
}

TEST(SlurmConf, ReadsBlocksAndTheirAggregates) {
  const TopologyFile file = must_read(
      "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockSizes=2,4,8\n");
  EXPECT_THAT(outline(file.topology),
              ElementsAre("b1..b3/b1..b2/b1: n1 n2", "b1..b3/b1..b2/b2: n3 n4", "b1..b3/b3..b3/b3: n5 n6"));
  const TopologyFile flat = must_read("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2\n");
  EXPECT_THAT(outline(flat.topology), ElementsAre("b1: n1 n2", "b2: n3 n4"));
  EXPECT_EQ(default_minipod_level(flat.topology), 0);
}

TEST(SlurmConf, SaysFileLineAndValueOfEachFault) {
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"),
              testing::AllOf(HasSubstr("topology.conf: line 2: "), HasSubstr("'a' is described twice"),
                             HasSubstr("line 1")));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1\n\nSwitchName=b Nodes=n[1-2]\n"),
              HasSubstr("line 3: host 'n1' is listed twice (first on line 1)"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1\nSwitchName=r Switches=a,b\n"),
              HasSubstr("line 2: switch 'b' is named here and described nowhere"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1\nSwitchName=r Switches=a\nSwitchName=s Switches=a\n"),
              HasSubstr("line 3: switch 'a' hangs on both 'r' and 's'"));
  EXPECT_THAT(error_of("SwitchName=l Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
              HasSubstr("line 2: the switches form a cycle: a below b below a"));
  EXPECT_THAT(error_of("SwitchName=a Switches=a\n"), HasSubstr("line 1: switch 'a' hangs on itself"));
  EXPECT_THAT(error_of("SwitchName=a Node=n1\n"), HasSubstr("line 1: unknown keyword 'node'"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1 Nodes=n2\n"), HasSubstr("'nodes' occurs twice"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=\n"), HasSubstr("'nodes' has no value"));
  EXPECT_THAT(error_of("SwitchName=a\n"), HasSubstr("line 1: expected SwitchName= with"));
  EXPECT_THAT(error_of("SwitchName=a BlockName=b Nodes=n\n"), HasSubstr("line 1: expected SwitchName= with"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n"),
              HasSubstr("line 2: switches and blocks"));
  EXPECT_THAT(error_of("SwitchName=a\\\n Nodes=n[1-\n"),
              HasSubstr("line 1: host list: brackets do not match"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=a[1-999999999]\n"),
              HasSubstr("line 1: host list: more than 4194304"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=n1;rm\n"),
              HasSubstr("line 1: 'n1;rm' cannot be the name of a host"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=\"n1\n"), HasSubstr("quote is not closed"));
  EXPECT_THAT(error_of("SwitchName=a what Nodes=n1\n"), HasSubstr("expected Keyword=value"));
  EXPECT_THAT(error_of("Include other.conf\n"), HasSubstr("line 1: Include is not followed"));
  EXPECT_THAT(error_of("BlockName=b Nodes=n1\nBlockSizes=18,54\n"), HasSubstr("line 2: block size 54"));
  EXPECT_THAT(error_of("BlockName=b Nodes=n1\nBlockSizes=-1\n"), HasSubstr("line 2: block size -1"));
  EXPECT_THAT(error_of("BlockName=b Nodes=n1\nBlockSizes=0\n"), HasSubstr("line 2: block size 0"));
  EXPECT_THAT(error_of("BlockName=b Nodes=n1\nBlockSizes=x\n"), HasSubstr("line 2: BlockSizes= is no list"));
  EXPECT_THAT(error_of(""), HasSubstr("no hosts"));
  EXPECT_THAT(error_of("SwitchName=a Switches=b\nSwitchName=b Switches=c\n"), HasSubstr("'c' is named here"));
}

constexpr std::string_view kYaml = R"(---
- topology: topo1
  cluster_default: false
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-04]
- topology: topo2
  cluster_default: true
  block:
    block_sizes:
      - 2
      - 4
    blocks:
      - block: b1
        nodes: node[01-02]
      - block: b2
        nodes: node[03-04]
- topology: topo3
  flat: true
)";

TEST(SlurmYaml, ReadsTheDefaultOrTheNamedTopology) {
  const TopologyFile block = must_read(kYaml);
  EXPECT_EQ(block.format, TopologyFormat::kSlurmYaml);
  EXPECT_THAT(outline(block.topology), ElementsAre("b1..b2/b1: node01 node02", "b1..b2/b2: node03 node04"));
  EXPECT_THAT(block.remarks, ElementsAre(HasSubstr("3 topologies; 'topo2' is used")));
  const TopologyFile tree = must_read(kYaml, {.label_keys = {}, .topology_name = "topo1"});
  EXPECT_THAT(outline(tree.topology), ElementsAre("root/s1: node01 node02", "root/s2: node03 node04"));
}

TEST(SlurmYaml, SaysLineAndValueOfEachFault) {
  EXPECT_THAT(error_of(kYaml, {.label_keys = {}, .topology_name = "x"}), HasSubstr("no topology 'x'"));
  EXPECT_THAT(error_of(kYaml, {.label_keys = {}, .topology_name = "topo3"}),
              HasSubstr("line 23: only tree and"));
  EXPECT_THAT(error_of("- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-2\n"),
              HasSubstr("line 5: host list: brackets"));
  EXPECT_THAT(error_of("- topology: a\n  tree:\n    switch: 1\n"),
              HasSubstr("line 3: expected a list under 'switches'"));
  EXPECT_THAT(error_of("- topology: a\n  tree: {}\n  tree: {}\n"),
              HasSubstr("line 3: key 'tree' occurs twice"));
  EXPECT_THAT(error_of("- topology: a\n  tree: {}\n  block:\n    block_sizes: [2]\n"), HasSubstr("not both"));
  EXPECT_THAT(error_of("- topology: [a\n"), HasSubstr("topology.conf: line "));
  EXPECT_THAT(error_of("- a: &x [1]\n  b: *x\n"), HasSubstr("line 1: anchors are not read: '&x'"));
  EXPECT_THAT(
      error_of(
          "- topology: a\n  block:\n    block_sizes: [2, 6]\n    blocks:\n    - {block: b, nodes: n1}\n"),
      HasSubstr("line 3: block size 6"));
  EXPECT_THAT(error_of("- " + std::string(100, '[') + std::string(100, ']') + "\n"),
              HasSubstr("nests more than 64 deep"));
  EXPECT_THAT(error_of("- " + std::string(100'000, '[') + "\n"), HasSubstr("topology.conf: line 1: "));
  std::string nested = "- a:\n";
  for (int depth = 0; depth < 100; ++depth) {
    nested += std::string(static_cast<std::size_t>(depth) + 4, ' ') + "a:\n";
  }
  EXPECT_THAT(error_of(nested), HasSubstr("nests more than 64 deep"));
}

}  // namespace
}  // namespace rudder::place
