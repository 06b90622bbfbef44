// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string switch_record(std::string_view guid, std::string_view name,
                          const std::vector<std::string>& ports) {
  std::string text = fmt::format(
      "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{0}\nswitchguid=0x{0}({0})\nSwitch\t65 \"S-{0}\"\t\t# "
      "\"MF0;{1}:MQM9701/U1\" enhanced port 0 lid 73 lmc 0\n",
      guid, name);
  int port = 1;
  for (const std::string& peer : ports) {
    text += fmt::format("[{}]\t{}\n", port++, peer);
  }
  return text + "\n";
}

std::string adapter(std::string_view guid, std::string_view description) {
  return fmt::format("\"H-{0}\"[1]({0}) \t\t# \"{1}\" lid 647 4xNDR", guid, description);
}

std::string link(std::string_view guid) {
  return fmt::format("\"S-{}\"[32]\t\t# \"MF0;other:MQM9701/U1\" lid 236 4xNDR", guid);
}

/// Two pods of two leaf groups; each host has two rails, so each group has two leaves; spines join the groups
/// of a pod and cores the pods.
std::string fat_tree() {
  std::string text = "#\n# Topology file: generated on Wed Aug  6 16:11:23 2025\n#\n\n";
  for (int pod = 0; pod < 2; ++pod) {
    for (int group = 0; group < 2; ++group) {
      for (int rail = 0; rail < 2; ++rail) {
        std::vector<std::string> ports;
        for (int host = 0; host < 2; ++host) {
          ports.push_back(adapter(fmt::format("a{}{}{}{}", pod, group, rail, host),
                                  fmt::format("dgx-p{}g{}h{} mlx5_{}", pod, group, host, rail)));
        }
        ports.push_back(adapter("b", "Mellanox Technologies Aggregation Node"));
        ports.push_back(adapter("c", "MT4129 ConnectX7   Mellanox Technologies"));
        ports.push_back(adapter("d", "localhost HCA-6"));  // on every leaf: no host that joins them all
        ports.push_back(link(fmt::format("5{}{}", pod, rail)));
        text += switch_record(fmt::format("1{}{}{}", pod, group, rail),
                              fmt::format("LEAF-{}-{}-{}", pod, group, rail), ports);
      }
    }
    for (int rail = 0; rail < 2; ++rail) {
      text += switch_record(fmt::format("5{}{}", pod, rail), fmt::format("SPINE-{}-{}", pod, rail),
                            {link("900")});
    }
  }
  text += switch_record("900", "CORE", {});
  return text +
         "vendid=0x2c9\nCa\t1 \"H-a0000\"\t\t# \"dgx-p0g0h0 mlx5_0\"\n[1](a)\t\"S-1000\"[1]\t# lid 1\n";
}

TEST(Ibnetdiscover, NestsLeafGroupsPodsAndTheCore) {
  const TopologyFile file = must_read(fat_tree());
  EXPECT_EQ(file.format, TopologyFormat::kIbnetdiscover);
  EXPECT_THAT(outline(file.topology), ElementsAre("CORE/SPINE-0-0+1/LEAF-0-0-0+1: dgx-p0g0h0 dgx-p0g0h1",
                                                  "CORE/SPINE-0-0+1/LEAF-0-1-0+1: dgx-p0g1h0 dgx-p0g1h1",
                                                  "CORE/SPINE-1-0+1/LEAF-1-0-0+1: dgx-p1g0h0 dgx-p1g0h1",
                                                  "CORE/SPINE-1-0+1/LEAF-1-1-0+1: dgx-p1g1h0 dgx-p1g1h1"));
  EXPECT_THAT(file.remarks,
              ElementsAre(HasSubstr("16 ports lead to adapters whose description names no host")));
  EXPECT_EQ(minipods(file.topology, default_minipod_level(file.topology)).size(), 2U);
}

TEST(Ibnetdiscover, LeavesWiredToOneAnotherStayApart) {
  const TopologyFile file = must_read(switch_record("1", "A", {adapter("a", "h1 mlx5_0"), link("2")}) +
                                      switch_record("2", "B", {adapter("b", "h2 mlx5_0"), link("1")}));
  EXPECT_THAT(outline(file.topology), ElementsAre("fabric of A/A: h1", "fabric of A/B: h2"));
}

TEST(Ibnetdiscover, SaysLineAndValueOfEachFault) {
  EXPECT_THAT(error_of(switch_record("1", "A", {link("2")})),
              HasSubstr("line 5: a port's peer 'S-2' is not listed"));
  EXPECT_THAT(error_of(switch_record("1", "A", {adapter("a", "h1 x")}) + switch_record("1", "A", {})),
              HasSubstr("switch 'S-1' is listed twice"));
  EXPECT_THAT(error_of(switch_record("1", "A", {"nonsense"})),
              HasSubstr("line 6: a port without its peer's id"));
  EXPECT_THAT(error_of(switch_record("1", "A", {})), HasSubstr("no port names a host"));
  EXPECT_THAT(error_of("vendid=0\nSwitch\t65 \"x\n"), HasSubstr("line 2: a switch without its"));
}

}  // namespace
}  // namespace rudder::place
