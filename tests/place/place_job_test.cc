// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/place/job.h"

#include "support/clusters.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Nodes of one TP group each: DP rows of PP columns.
JobShape shape_of(std::int32_t rows, std::int32_t columns) {
  return {.gpus_per_node = 8, .tp = 8, .pp = columns, .dp = rows, .cp = 1};
}

std::vector<std::string> hosts_of(const Plan& plan) {
  std::vector<std::string> hosts;
  for (const PlannedNode& node : plan.nodes) {
    hosts.push_back(node.host);
  }
  return hosts;
}

/// Spread of a plan by the names of its minipods alone.
CheckedCells recheck(const Plan& plan, double alpha, Metric metric = Metric::kCount) {
  const Grid grid = grid_of(plan.shape).value();
  std::vector<std::string> names;
  std::vector<std::int32_t> cells(static_cast<std::size_t>(grid.cells()), -1);
  std::vector<std::string> hosts(cells.size());
  for (const PlannedNode& node : plan.nodes) {
    auto name = std::find(names.begin(), names.end(), node.minipod);
    if (name == names.end()) {
      name = names.insert(names.end(), node.minipod);
    }
    const auto cell = static_cast<std::size_t>(node.row * grid.columns + node.stage);
    cells[cell] = static_cast<std::int32_t>(name - names.begin());
    hosts[cell] = node.host;
  }
  EXPECT_TRUE(check_injective(grid.columns, hosts).ok());
  const std::vector<std::int32_t> capacities(names.size(), static_cast<std::int32_t>(grid.cells()));
  return check_cells(grid.rows, grid.columns, cells, capacities, alpha, metric).value();
}

TEST(PlaceJob, PlacesBlocksOfTwoByTwo) {
  const Result<PlacedJob> placed = place_job(test::cluster({4, 4, 4, 4}), shape_of(4, 4));
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->plan.spread.S, 2);
  EXPECT_EQ(placed->plan.spread.Q, 2);
  EXPECT_DOUBLE_EQ(placed->plan.J, 2.0);
  EXPECT_TRUE(placed->optimal);
  EXPECT_EQ(placed->gap, 0);
  EXPECT_TRUE(validate(placed->plan).ok());
  // Stage by stage: the first column has rows 1-2 in one minipod and rows 3-4 in another.
  EXPECT_THAT(std::vector<std::string>(hosts_of(placed->plan)),
              ElementsAre("m0h0", "m0h1", "m2h0", "m2h1", "m0h2", "m0h3", "m2h2", "m2h3", "m1h0", "m1h1",
                          "m3h0", "m3h1", "m1h2", "m1h3", "m3h2", "m3h3"));
}

TEST(PlaceJob, RingMetricPrefersAlignedColumns) {
  const Topology topology = test::cluster({4, 4, 4, 4});
  PlaceOptions options;
  options.alpha = 0.4;
  EXPECT_DOUBLE_EQ(place_job(topology, shape_of(4, 4), options)->plan.J, 2.0);
  options.metric = Metric::kRing;
  const Result<PlacedJob> ring = place_job(topology, shape_of(4, 4), options);
  EXPECT_EQ(ring->plan.spread.S, 1);
  EXPECT_EQ(ring->plan.spread.Q, 4);
  EXPECT_DOUBLE_EQ(ring->plan.J, 1.6);
}

TEST(PlaceJob, RowMajorOrderWalksPipelines) {
  PlaceOptions options;
  options.order = RankOrder::kRowMajor;
  options.alpha = 0;
  const Result<PlacedJob> placed = place_job(test::cluster({2, 2}), shape_of(2, 2), options);
  ASSERT_TRUE(placed.ok());
  EXPECT_THAT(hosts_of(placed->plan), ElementsAre("m0h0", "m0h1", "m1h0", "m1h1"));
}

TEST(PlaceJob, SameHostsWhateverTheOrderOfInput) {
  const Topology topology = test::cluster({5, 9, 7, 7, 3, 8}, 3);
  const Result<PlacedJob> expected = place_job(topology, shape_of(6, 5));
  ASSERT_TRUE(expected.ok());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CounterRng rng({seed});
    std::vector<Host> hosts = topology.hosts;
    for (std::size_t i = hosts.size(); i > 1; --i) {
      std::swap(hosts[i - 1], hosts[rng.below(i)]);
    }
    const Topology shuffled = canonical_topology(topology.switches, hosts).value();
    EXPECT_EQ(hosts_of(place_job(shuffled, shape_of(6, 5))->plan), hosts_of(expected->plan)) << seed;
  }
}

TEST(PlaceJob, UsesNeitherBusyNorDownNorExcludedHosts) {
  Topology topology = test::cluster({4, 4});
  test::host_named(topology, "m0h1").state = HostState::kBusy;
  test::host_named(topology, "m1h2").state = HostState::kDown;
  PlaceOptions options;
  options.excluded = {"m0h3"};
  const Result<PlacedJob> placed = place_job(topology, shape_of(5, 1), options);
  ASSERT_TRUE(placed.ok());
  EXPECT_THAT(hosts_of(placed->plan), testing::UnorderedElementsAre("m0h0", "m0h2", "m1h0", "m1h1", "m1h3"));
  const Result<PlacedJob> more = place_job(topology, shape_of(6, 1), options);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Errc::kResource);
  EXPECT_THAT(more.error().message, testing::AllOf(HasSubstr("6 nodes"), HasSubstr("5 usable")));
  options.excluded = {"nobody"};
  EXPECT_EQ(place_job(topology, shape_of(1, 1), options).error().code, Errc::kNotFound);
}

TEST(PlaceJob, KeepsSparesInEachMinipodInUse) {
  PlaceOptions options;
  options.spares_per_minipod = 1;
  options.alpha = 0;
  const Result<PlacedJob> placed = place_job(test::cluster({4, 4, 4}), shape_of(2, 3), options);
  ASSERT_TRUE(placed.ok());
  std::set<std::string> used;
  for (const PlannedNode& node : placed->plan.nodes) {
    used.insert(node.host);
  }
  ASSERT_EQ(placed->spares.size(), 2U);
  for (const SpareHost& spare : placed->spares) {
    EXPECT_EQ(used.count(spare.host), 0U) << spare.host;
  }
  EXPECT_FALSE(place_job(test::cluster({4, 4, 4}), shape_of(10, 1), options).ok());
}

TEST(PlaceJob, TakesTheFullestLeafFirst) {
  Topology topology = test::cluster({6}, 3);
  test::host_named(topology, "m0h1").state = HostState::kDown;
  const Result<PlacedJob> placed = place_job(topology, shape_of(3, 1));
  EXPECT_THAT(hosts_of(placed->plan), ElementsAre("m0h3", "m0h4", "m0h5"));
}

TEST(PlaceJob, LeavesTheLargestMinipodsUntouched) {
  const Result<PlacedJob> placed = place_job(test::cluster({12, 4, 6}), shape_of(2, 2));
  ASSERT_TRUE(placed.ok());
  for (const PlannedNode& node : placed->plan.nodes) {
    EXPECT_EQ(node.minipod, "m1");
  }
}

TEST(PlaceJob, RejectsShapesThatSplitNodes) {
  const Topology topology = test::cluster({8});
  EXPECT_EQ(place_job(topology, {.gpus_per_node = 8, .tp = 3, .pp = 1, .dp = 8, .cp = 1}).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(place_job(topology, {.gpus_per_node = 8, .tp = 2, .pp = 1, .dp = 6, .cp = 1}).error().code,
            Errc::kInvalidArgument);
  PlaceOptions options;
  options.alpha = 1.5;
  EXPECT_THAT(place_job(topology, shape_of(1, 1), options).error().message, HasSubstr("1.5"));
}

TEST(PlaceJob, ReportsContextAndExpertGroups) {
  // Two members a node; groups of four members are two consecutive rows.
  const JobShape shape{.gpus_per_node = 8, .tp = 4, .pp = 2, .dp = 3, .cp = 4};
  PlaceOptions options;
  options.ep = 4;
  options.alpha = 0;
  const Topology topology = test::cluster({3, 3, 3, 3, 3});
  const Result<PlacedJob> loose = place_job(topology, shape, options);
  ASSERT_TRUE(loose.ok());
  ASSERT_EQ(loose->families.size(), 2U);
  EXPECT_EQ(loose->families[0].name, "cp");
  EXPECT_EQ(loose->families[1].name, "ep");
  EXPECT_EQ(loose->families[0].spread, loose->families[1].spread);
  EXPECT_GT(loose->families[1].spread, 1);
  options.experts_together = true;
  EXPECT_EQ(place_job(topology, shape, options).error().code, Errc::kResource);
  const Result<PlacedJob> together = place_job(test::cluster({4, 4, 5}), shape, options);
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(together->families[1].spread, 1);
  EXPECT_DOUBLE_EQ(together->families[1].mean, 1);
}

TEST(PlaceJob, PhysicalCostOverridesAlpha) {
  PlaceOptions options;
  options.alpha = 1;
  options.physical = PhysicalCost{.dp_bytes = 0, .pp_bytes = 1e9, .bandwidth = 50e9};
  const Result<PlacedJob> placed = place_job(test::cluster({4, 4, 4, 4}), shape_of(4, 4), options);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->plan.spread.S, 1);
  EXPECT_DOUBLE_EQ(*placed->predicted_seconds, 1e9 / 50e9);
}

TEST(PlaceJob, CheckerAgreesOnRandomClusters) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CounterRng rng({seed, 3});
    std::vector<std::int32_t> sizes(2 + rng.below(6));
    std::int32_t total = 0;
    for (std::int32_t& size : sizes) {
      size = 1 + static_cast<std::int32_t>(rng.below(12));
      total += size;
    }
    const auto columns = 1 + static_cast<std::int32_t>(rng.below(4));
    const JobShape shape = shape_of(std::max(1, total / columns - 1), columns);
    if (std::int64_t{shape.dp} * columns > total) {
      continue;
    }
    PlaceOptions options;
    options.alpha = rng.unit();
    options.metric = seed % 2 == 0 ? Metric::kCount : Metric::kRing;
    const Result<PlacedJob> placed = place_job(test::cluster(sizes), shape, options);
    ASSERT_TRUE(placed.ok()) << seed;
    const CheckedCells checked = recheck(placed->plan, options.alpha, options.metric);
    EXPECT_DOUBLE_EQ(checked.J, placed->plan.J) << seed;
    EXPECT_GE(placed->plan.J, placed->plan.J_lb - 1e-12) << seed;
  }
}

}  // namespace
}  // namespace rudder::place
