// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/place/job.h"

#include "support/clusters.h"

namespace rudder::place {
namespace {

using testing::HasSubstr;

PlacedJob placed_on(const Topology& topology, std::int32_t rows, std::int32_t columns, double alpha) {
  PlaceOptions options;
  options.alpha = alpha;
  return place_job(topology, {.gpus_per_node = 8, .tp = 8, .pp = columns, .dp = rows, .cp = 1}, options)
      .value();
}

const PlannedNode& node_at(const Plan& plan, std::int32_t row, std::int32_t stage) {
  for (const PlannedNode& node : plan.nodes) {
    if (node.row == row && node.stage == stage) {
      return node;
    }
  }
  RUDDER_CHECK(false, "the cell exists");
}

TEST(ReplaceHosts, StaysInTheMinipodAndMovesNothingElse) {
  const Topology topology = test::cluster({6, 6, 20});
  const PlacedJob placed = placed_on(topology, 2, 4, 0);
  const std::string failed = node_at(placed.plan, 1, 2).host;
  const Result<Replacement> result = replace_hosts(topology, placed.plan, std::vector{failed});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->hosts.size(), 1U);
  EXPECT_EQ(result->hosts[0].minipod, node_at(placed.plan, 1, 2).minipod);
  EXPECT_EQ(result->hosts[0].delta_J, 0);
  EXPECT_TRUE(validate(result->plan).ok());
  for (std::size_t i = 0; i < placed.plan.nodes.size(); ++i) {
    const bool moved = placed.plan.nodes[i].host == failed;
    EXPECT_EQ(result->plan.nodes[i].host == placed.plan.nodes[i].host, !moved);
    EXPECT_EQ(result->plan.nodes[i].rank0, placed.plan.nodes[i].rank0);
  }
}

TEST(ReplaceHosts, LeastRiseOfJThenTheRowsMinipod) {
  // Rows are aligned: 4 + 4 cells in two minipods of 4, and one host is left in each of two others.
  Topology topology = test::cluster({4, 4, 1});
  const PlacedJob placed = placed_on(topology, 2, 4, 0.25);
  ASSERT_EQ(placed.plan.spread.S, 1);
  const PlannedNode lost = node_at(placed.plan, 0, 0);
  test::host_named(topology, lost.host).state = HostState::kDown;
  const Result<Replacement> result = replace_hosts(topology, placed.plan, std::vector{lost.host});
  ASSERT_TRUE(result.ok());
  // Only m2 has a host: the row meets two minipods now, the column still two.
  EXPECT_EQ(result->hosts[0].host, "m2h0");
  EXPECT_DOUBLE_EQ(result->hosts[0].delta_J, 0.75);
  EXPECT_EQ(result->plan.spread.S, 2);
  EXPECT_DOUBLE_EQ(result->plan.J, 0.25 * 2 + 0.75 * 2);
}

/// Every free host is tried: none may cost less than the one that was taken.
TEST(ReplaceHosts, NoOtherHostCostsLess) {
  const Topology topology = test::cluster({5, 5, 4, 3, 2});
  const PlacedJob placed = placed_on(topology, 4, 4, 0.4);
  for (const PlannedNode& lost : placed.plan.nodes) {
    const Result<Replacement> result = replace_hosts(topology, placed.plan, std::vector{lost.host});
    ASSERT_TRUE(result.ok());
    for (const Host& other : topology.hosts) {
      std::vector<std::string> excluded;
      for (const Host& host : topology.hosts) {
        if (host.name != other.name) {
          excluded.push_back(host.name);
        }
      }
      const Result<Replacement> only =
          replace_hosts(topology, placed.plan, std::vector{lost.host}, {.excluded = excluded});
      if (only.ok() && node_at(placed.plan, lost.row, lost.stage).minipod != result->hosts[0].minipod) {
        EXPECT_GE(only->hosts[0].delta_J, result->hosts[0].delta_J - 1e-12);
      }
    }
  }
}

TEST(ReplaceHosts, SparesMayBeBusyAndComeFirst) {
  Topology topology = test::cluster({6});
  const PlacedJob placed = placed_on(topology, 2, 2, 0.5);
  test::host_named(topology, "m0h5").state = HostState::kBusy;
  EXPECT_EQ(replace_hosts(topology, placed.plan, std::vector<std::string>{"m0h0"})->hosts[0].host, "m0h4");
  EXPECT_EQ(replace_hosts(topology, placed.plan, std::vector<std::string>{"m0h0"}, {.spares = {"m0h5"}})
                ->hosts[0]
                .host,
            "m0h5");
}

TEST(ReplaceHosts, HostsOutsideThePlanAreIgnoredAndNotUsed) {
  const Topology topology = test::cluster({6});
  const PlacedJob placed = placed_on(topology, 2, 2, 0.5);
  const Result<Replacement> result =
      replace_hosts(topology, placed.plan, std::vector<std::string>{"x9", "m0h0", "m0h4"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ignored, (std::vector<std::string>{"x9", "m0h4"}));
  ASSERT_EQ(result->hosts.size(), 1U);
  EXPECT_EQ(result->hosts[0].host, "m0h5");
  const Result<Replacement> none =
      replace_hosts(topology, placed.plan, std::vector<std::string>{"x9", "m0h4"});
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("none of 2"));
}

TEST(ReplaceHosts, NamesWhatIsWrong) {
  const Topology topology = test::cluster({4});
  const PlacedJob placed = placed_on(topology, 2, 2, 0.5);
  const Result<Replacement> stranger = replace_hosts(topology, placed.plan, std::vector<std::string>{"x9"});
  EXPECT_EQ(stranger.error().code, Errc::kNotFound);
  EXPECT_THAT(stranger.error().message, HasSubstr("x9"));
  const Result<Replacement> full = replace_hosts(topology, placed.plan, std::vector<std::string>{"m0h1"});
  EXPECT_EQ(full.error().code, Errc::kResource);
  EXPECT_THAT(full.error().message, HasSubstr("m0h1"));
}

}  // namespace
}  // namespace rudder::place
