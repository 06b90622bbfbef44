// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/topology.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/topology_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NaturalLess, ComparesDigitsAsNumbers) {
  EXPECT_TRUE(natural_less("n9", "n10"));
  EXPECT_FALSE(natural_less("n10", "n9"));
  EXPECT_TRUE(natural_less("node66", "node7") == false);
  EXPECT_TRUE(natural_less("a2b10", "a2b11"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("n99999999999999999999", "n100000000000000000000"));
}

TEST(NaturalLess, IsATotalOrder) {
  std::vector<std::string> names = {"",    "0",   "00",   "1",  "01", "a",  "a0",
                                    "a00", "a1b", "a01b", "a1", "b",  "10", "9"};
  for (const std::string& x : names) {
    EXPECT_FALSE(natural_less(x, x));
    for (const std::string& y : names) {
      EXPECT_TRUE(x == y || natural_less(x, y) != natural_less(y, x)) << x << " " << y;
      for (const std::string& z : names) {
        EXPECT_TRUE(!natural_less(x, y) || !natural_less(y, z) || natural_less(x, z)) << x << y << z;
      }
    }
  }
}

/// core → m0..m3 → leaves → 3 hosts each, in a random order of the vectors.
Result<Topology> shuffled(unsigned seed) {
  struct Line {
    std::string name, parent;
  };
  std::vector<Line> lines = {{"core", ""}};
  std::vector<std::pair<std::string, std::string>> hosts;
  for (int m = 0; m < 4; ++m) {
    lines.push_back({fmt::format("m{}", m), "core"});
    for (int l = 9; l < 12; ++l) {
      const std::string leaf = fmt::format("m{}l{}", m, l);
      lines.push_back({leaf, fmt::format("m{}", m)});
      for (int h = 0; h < 3; ++h) {
        hosts.emplace_back(fmt::format("{}h{}", leaf, h), leaf);
      }
    }
  }
  std::mt19937 random(seed);
  std::shuffle(lines.begin(), lines.end(), random);
  std::shuffle(hosts.begin(), hosts.end(), random);
  const auto id_of = [&](const std::string& name) {
    const auto at =
        std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.name == name; });
    return at == lines.end() ? kNoSwitch : static_cast<SwitchId>(at - lines.begin());
  };
  std::vector<Switch> switches;
  for (const Line& line : lines) {
    switches.push_back({line.name, id_of(line.parent), 0});
  }
  std::vector<Host> made;
  for (const auto& [name, leaf] : hosts) {
    made.push_back({name, id_of(leaf), HostState::kFree});
  }
  return canonical_topology(std::move(switches), std::move(made));
}

TEST(CanonicalTopology, DoesNotDependOnTheOrderOfLines) {
  const Result<Topology> first = shuffled(1);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->switches[0].name, "core");
  EXPECT_EQ(first->switches[5].name, "m0l9");  // before m0l10
  EXPECT_EQ(first->switches[5].level, 2);
  for (unsigned seed = 2; seed < 20; ++seed) {
    const Result<Topology> other = shuffled(seed);
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(outline(*first), outline(*other));
    for (std::size_t i = 0; i < first->switches.size(); ++i) {
      EXPECT_EQ(first->switches[i].name, other->switches[i].name);
      EXPECT_LT(other->switches[i].parent, static_cast<SwitchId>(i));
    }
  }
}

std::string failure(std::vector<Switch> switches, std::vector<Host> hosts) {
  const Result<Topology> made = canonical_topology(std::move(switches), std::move(hosts));
  return made.ok() ? "none" : made.error().message;
}

TEST(CanonicalTopology, RefusesWhatIsNoTree) {
  EXPECT_THAT(failure({{"a", 1, 0}, {"b", 2, 0}, {"c", 0, 0}, {"d", 2, 0}}, {{"h", 3, {}}}),
              HasSubstr("cycle: "));
  EXPECT_THAT(failure({{"a", 0, 0}}, {{"h", 0, {}}}), HasSubstr("cycle: a below a"));
  EXPECT_THAT(failure({{"a", 7, 0}}, {{"h", 0, {}}}), HasSubstr("'a' has an unknown parent"));
  EXPECT_THAT(failure({{"a", -1, 0}}, {{"h", 3, {}}}), HasSubstr("'h' hangs on no known switch"));
  EXPECT_THAT(failure({{"a", -1, 0}, {"a", -1, 0}}, {{"h", 0, {}}}), HasSubstr("switch 'a' is listed twice"));
  EXPECT_THAT(failure({{"a", -1, 0}}, {{"h", 0, {}}, {"g", 0, {}}, {"h", 0, {}}}),
              HasSubstr("host 'h' is listed twice"));
  EXPECT_THAT(failure({{"", -1, 0}}, {{"h", 0, {}}}), HasSubstr("no name"));
  EXPECT_THAT(failure({{"a", -1, 0}}, {}), HasSubstr("no hosts"));
}

TEST(CanonicalTopology, TakesAChainOfAHundredThousandSwitches) {
  constexpr SwitchId kLength = 100'000;
  std::vector<Switch> chain;
  for (SwitchId i = 0; i < kLength; ++i) {
    chain.push_back({fmt::format("s{}", i), i - 1, 0});
  }
  const Result<Topology> topology = canonical_topology(chain, {{"h", kLength - 1, {}}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->switches.back().level, kLength - 1);
  EXPECT_THAT(minipods(*topology, 50'000), testing::SizeIs(1));
  chain[0].parent = kLength - 1;
  EXPECT_THAT(failure(chain, {{"h", 0, {}}}), HasSubstr("below ..."));
}

TEST(Minipods, AreTheSwitchesOfALevelWithTheirHosts) {
  const Result<Topology> topology = shuffled(3);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(default_minipod_level(*topology), 1);
  const std::vector<Minipod> pods = minipods(*topology, 1);
  ASSERT_EQ(pods.size(), 4U);
  EXPECT_EQ(pods[2].name, "m2");
  EXPECT_EQ(pods[2].hosts.size(), 9U);
  EXPECT_TRUE(std::is_sorted(pods[2].hosts.begin(), pods[2].hosts.end()));
  EXPECT_EQ(topology->hosts[static_cast<std::size_t>(pods[2].hosts[0])].name, "m2l9h0");
  EXPECT_EQ(minipods(*topology, 0).size(), 1U);
  EXPECT_EQ(minipods(*topology, 2).size(), 12U);
  EXPECT_EQ(minipods(*topology, 9).size(), 12U);  // deeper than the tree: leaves
}

TEST(Minipods, HostsAboveTheLevelAreAPodOfTheirOwn) {
  const Result<Topology> topology =
      canonical_topology({{"core", -1, 0}, {"m", 0, 0}}, {{"a", 1, {}}, {"login", 0, {}}});
  ASSERT_TRUE(topology.ok());
  const std::vector<Minipod> pods = minipods(*topology, 1);
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0].name, "core");
  EXPECT_THAT(pods[0].hosts, ElementsAre(1));
}

TEST(Minipods, RootsAloneAreLevelZero) {
  const Result<Topology> topology =
      canonical_topology({{"b1", -1, 0}, {"b2", -1, 0}}, {{"a", 1, {}}, {"b", 0, {}}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(default_minipod_level(*topology), 0);
  EXPECT_EQ(minipods(*topology, 0).size(), 2U);
}

}  // namespace
}  // namespace rudder::place
