// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/hosts.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string problem(const std::string& text) {
  const auto hosts = parse_hosts(text, "cluster");
  return hosts.ok() ? "none" : hosts.error().message;
}

HostEntry host(std::string name, Rank slots) {
  return {std::move(name), slots, {}};
}

TEST(Hosts, HaveALineEachWithComments) {
  const auto hosts = parse_hosts(
      "# the rack by the window\n\n  alpha\tslots=4 # two of each\r\nuser@10.0.0.2 address=ib2 "
      "slots=1\nfe80::1%eth0",
      "cluster");
  ASSERT_TRUE(hosts.ok()) << hosts.error().message;
  EXPECT_THAT(*hosts, ElementsAre(HostEntry{"alpha", 4, ""}, HostEntry{"user@10.0.0.2", 1, "ib2"},
                                  HostEntry{"fe80::1%eth0", 1, ""}));
  EXPECT_EQ(slots_of(*hosts), 6U);
}

TEST(Hosts, ProblemsAreSaidWithTheirLine) {
  EXPECT_EQ(problem(""), "cluster: no host in it");
  EXPECT_EQ(problem("# alpha\n\n"), "cluster: no host in it");
  EXPECT_EQ(problem("alpha\n\nalpha slots=2\n"), "cluster, line 3: host alpha was in line 1 already");
  EXPECT_EQ(problem("alpha slots=0"), "cluster, line 1: slots '0' is not a number from 1 to 4096");
  EXPECT_THAT(problem("alpha slots=4097"), HasSubstr("slots '4097'"));
  EXPECT_THAT(problem("alpha slots=-1"), HasSubstr("slots '-1'"));
  EXPECT_THAT(problem("alpha slots=2x"), HasSubstr("slots '2x'"));
  EXPECT_THAT(problem("alpha slots="), HasSubstr("slots ''"));
  EXPECT_THAT(problem("alpha slots"), HasSubstr("slots ''"));
  EXPECT_EQ(problem("alpha slots=2 slots=2"), "cluster, line 1: slots a second time");
  EXPECT_EQ(problem("alpha address=a address=b"), "cluster, line 1: address a second time");
  EXPECT_THAT(problem("alpha address="), HasSubstr("address '' is neither"));
  EXPECT_EQ(problem("ok\nalpha slot=2"),
            "cluster, line 2: 'slot=2' is unknown; a line is NAME [slots=N] [address=ADDRESS]");
  EXPECT_THAT(problem("alpha 4"), HasSubstr("'4' is unknown"));
  EXPECT_EQ(problem("a slots=4000\nb slots=97"), "cluster, line 2: more than 4096 slots in all");
}

TEST(Hosts, NamesThatAProgramOrAShellCouldTakeForSomethingElseAreRefused) {
  EXPECT_EQ(problem("-oProxyCommand=x"), "cluster, line 1: '-oProxyCommand=x' is not a host's name");
  for (const char* name : {"a;b", "$(id)", "a`b`", "a|b", "'a'", "a\\b", "\xc3\xbc", "@", "me@", "me@-oX"}) {
    EXPECT_THAT(problem(name), HasSubstr("is not a host's name")) << name;
  }
  EXPECT_THAT(problem(std::string("a\0b", 3)), HasSubstr("'a\\x00b' is not a host's name"));
  EXPECT_THAT(problem("\x1b[2J"), HasSubstr("'\\x1b[2J'"));
  EXPECT_THAT(problem("a address=-x"), HasSubstr("address '-x'"));
  const std::string longest(255, 'a');
  EXPECT_EQ(problem(longest), "none");
  EXPECT_LT(problem(longest + "a").size(), 120U);
}

TEST(SpreadRanks, FillsSlotsInTheHostsOrder) {
  const std::vector<HostEntry> hosts = {host("a", 2), host("b", 1), host("c", 3)};
  EXPECT_THAT(spread_ranks(hosts, 6), ElementsAre(RankRange{0, 2}, RankRange{2, 1}, RankRange{3, 3}));
  EXPECT_THAT(spread_ranks(hosts, 4), ElementsAre(RankRange{0, 2}, RankRange{2, 1}, RankRange{3, 1}));
  EXPECT_THAT(spread_ranks(hosts, 2), ElementsAre(RankRange{0, 2}, RankRange{2, 0}, RankRange{2, 0}));
}

TEST(SpreadRanks, SpreadsWhatDoesNotFitEvenly) {
  const std::vector<HostEntry> hosts = {host("a", 2), host("b", 1), host("c", 3)};
  EXPECT_THAT(spread_ranks(hosts, 10), ElementsAre(RankRange{0, 4}, RankRange{4, 2}, RankRange{6, 4}));
  EXPECT_THAT(spread_ranks(std::vector<HostEntry>{host("a", 1)}, 7), ElementsAre(RankRange{0, 7}));
}

TEST(SpreadRanks, GivesEveryRankToOneHost) {
  for (Rank first = 1; first <= 3; ++first) {
    for (Rank second = 1; second <= 3; ++second) {
      for (Rank ranks = 1; ranks <= 12; ++ranks) {
        const std::vector<HostEntry> hosts = {host("a", first), host("b", second)};
        Rank next = 0;
        for (const RankRange& range : spread_ranks(hosts, ranks)) {
          EXPECT_EQ(range.first, next);
          next += range.count;
        }
        EXPECT_EQ(next, ranks);
      }
    }
  }
}

TEST(BareName, LeavesTheUserOut) {
  EXPECT_EQ(bare_name("me@alpha"), "alpha");
  EXPECT_EQ(bare_name("alpha"), "alpha");
}

}  // namespace
}  // namespace rudder::launch
