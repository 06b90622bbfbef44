// SPDX-License-Identifier: Apache-2.0
// Damaged files of every format: an error that names the file, or a topology that holds its promises; never a
// crash (the sanitizer builds watch).
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::HasSubstr;

struct Sample {
  std::string_view format;
  std::string_view text;
};

constexpr std::string_view kConf =
    "SwitchName=a Nodes=n[1-3],m1\nSwitchName=b Nodes=o[01-02]x[1-2]\n"
    "SwitchName=r \\\n  Switches=a,b # root\n";
constexpr std::string_view kBlocks = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n";
constexpr std::string_view kSmallYaml =
    "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
    "    - switch: r\n      children: s[1-2]\n    - {switch: s1, nodes: n1}\n"
    "    - {switch: s2, nodes: 'n[2-3]'}\n";
constexpr std::string_view kModel =
    "switches:\n- {name: r, switches: [a, b]}\n- {name: a, capacity_blocks: [c]}\n"
    "capacity_blocks:\n- {name: c, nodes: ['n[1-2]']}\nblocks:\n"
    "- switch: b\n  nodes: [m1]\nnodes:\n  n1: {capacity_block: c}\n";
constexpr std::string_view kGraph =
    R"({"instances":[{"id":"a","network_layers":["l","s"]},{"id":"b","network_layers":["m","s"]}]})";
constexpr std::string_view kNodeList =
    R"({"items":[{"metadata":{"name":"a","labels":{"topology.kubernetes.io/zone":"z"}},
"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"False"}]}}]})";
constexpr std::string_view kFabric =
    "vendid=0x2c9\nSwitch\t65 \"S-1\"\t\t# \"MF0;A:Q/U1\" lid 1\n"
    "[1]\t\"H-a\"[1](a) \t\t# \"h1 mlx5_0\" lid 2\n[2]\t\"S-2\"[1]\t\t# \"MF0;B:Q/U1\"\n"
    "Switch\t65 \"S-2\"\t\t# \"MF0;B:Q/U1\" lid 3\n[1]\t\"S-1\"[2]\n";
constexpr std::string_view kHosts = "n[1-2] core/a\nn3 core/b # spare\n";

std::string damaged(std::string_view text, std::mt19937& random) {
  std::string result(text);
  constexpr std::string_view kSpice =
      "[]{}\"'\\,:=-/#&*!|>%@`\n\t \0\x7f\xff"
      "19aS";
  for (auto edits = 1 + random() % 4; edits > 0 && !result.empty(); --edits) {
    const std::size_t at = random() % result.size();
    const char spice = kSpice[random() % kSpice.size()];
    switch (random() % 5) {
      case 0:
        result[at] = spice;
        break;
      case 1:
        result.insert(at, 1, spice);
        break;
      case 2:
        result.erase(at, 1 + random() % 8);
        break;
      case 3:
        result.insert(at, result.substr(random() % result.size(), 1 + random() % 40));
        break;
      default:
        result.resize(at);
    }
  }
  return result;
}

TEST(Damage, AByteOrderMarkChangesNothing) {
  for (const std::string_view text :
       {kConf, kBlocks, kSmallYaml, kModel, kGraph, kNodeList, kFabric, kHosts}) {
    const TopologyFile plain = must_read(text);
    const TopologyFile marked = must_read("\xef\xbb\xbf" + std::string(text));
    EXPECT_EQ(marked.format, plain.format) << text;
    EXPECT_EQ(outline(marked.topology), outline(plain.topology)) << text;
  }
}

TEST(Damage, NeverCrashesAReader) {
  std::mt19937 random(20);
  int read = 0;
  int refused = 0;
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create("rudder-damage");
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path path = folder->path() / "damaged";
  for (const Sample& sample :
       {Sample{"slurm-conf", kConf}, Sample{"slurm-conf", kBlocks}, Sample{"slurm-yaml", kSmallYaml},
        Sample{"topograph-model", kModel}, Sample{"topograph-graph", kGraph}, Sample{"kubernetes", kNodeList},
        Sample{"ibnetdiscover", kFabric}, Sample{"hosts", kHosts}}) {
    const Result<TopologyFormat> format = topology_format_from_name(sample.format);
    ASSERT_TRUE(format.ok());
    for (int round = 0; round < 100; ++round) {
      const std::string text = round == 0 ? std::string(sample.text) : damaged(sample.text, random);
      ASSERT_TRUE(write_quickly(path, text));
      const Result<TopologyFile> file =
          read_topology(path, {.format = round % 2 == 0 ? *format : TopologyFormat::kAuto,
                               .unknown = UnknownDomain::kSingleton,
                               .label_keys = {},
                               .topology_name = ""});
      ASSERT_TRUE(round > 0 || file.ok()) << file.error().message;
      if (!file.ok()) {
        ++refused;
        EXPECT_THAT(file.error().message, HasSubstr("damaged: ")) << text;
        continue;
      }
      ++read;
      std::size_t placed = 0;
      for (const Minipod& pod : minipods(file->topology, 1)) {
        placed += pod.hosts.size();
      }
      EXPECT_EQ(placed, file->topology.hosts.size());
    }
  }
  EXPECT_GT(read, 60);
  EXPECT_GT(refused, 60);
}

TEST(Damage, NeverCrashesTheStateReader) {
  std::mt19937 random(21);
  constexpr std::string_view kState = R"({"sinfo":[{"node":{"state":["IDLE"]},"nodes":{"nodes":["n1","n2"]}}],
"nodes":[{"name":"n1","state":"idle","state_flags":["DRAIN"]}]})";
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::string text = damaged(round % 2 == 0 ? kState : "n[1-2] idle*\nn3 down\n", random);
    const Result<std::vector<NamedState>> states = parse_states("states", text);
    refused += states.ok() ? 0 : 1;
    EXPECT_TRUE(states.ok() || states.error().message.starts_with("states: ")) << text;
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace rudder::place
