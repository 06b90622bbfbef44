// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/schedule.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/chi_square.h"

namespace rudder::sample {
namespace {

using ::testing::HasSubstr;

std::vector<NodeId> ids(NodeId first, NodeId count) {
  std::vector<NodeId> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST(Schedule, VisitsEveryTrainingNodeOncePerEpochInStepsOfEqualNumber) {
  const std::vector<std::vector<NodeId>> train = {ids(0, 1000), ids(1000, 777), ids(5000, 901),
                                                  ids(9000, 640)};
  for (const std::size_t batch : {2U, 3U, 64U, 100U, 1000U, 5000U}) {
    const Schedule schedule = Schedule::create(4, batch, {train[0], train[1], train[2], train[3]}).value();
    EXPECT_EQ(schedule.steps_per_epoch(), (1000 + batch - 1) / batch);
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::size_t> totals(schedule.steps_per_epoch());
      for (Rank rank = 0; rank < 4; ++rank) {
        std::vector<NodeId> seen;
        std::size_t shortest = 1 << 20;
        std::size_t longest = 0;
        for (std::uint32_t step = 0; step < schedule.steps_per_epoch(); ++step) {
          const std::vector<NodeId> seeds = schedule.seeds({epoch, step, rank});
          seen.insert(seen.end(), seeds.begin(), seeds.end());
          shortest = std::min(shortest, seeds.size());
          longest = std::max(longest, seeds.size());
          totals[step] += seeds.size();
        }
        EXPECT_EQ(seen, schedule.epoch_order(epoch, rank));
        EXPECT_GE(shortest, 1U);
        EXPECT_LE(longest, std::min(batch, shortest + 1));
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, train[rank]) << "rank " << rank << ", epoch " << epoch << ", batch size " << batch;
      }
      for (std::uint32_t step = 0; step < schedule.steps_per_epoch(); ++step) {
        EXPECT_EQ(schedule.total_seeds(step), totals[step]) << "step " << step;
      }
    }
  }
}

TEST(Schedule, DependsOnSeedEpochAndRankAlone) {
  const std::vector<NodeId> nodes = ids(0, 500);
  const Schedule a = Schedule::create(1, 50, {nodes, nodes}).value();
  const Schedule same = Schedule::create(1, 500, {nodes, nodes, nodes}).value();
  const Schedule other = Schedule::create(2, 50, {nodes, nodes}).value();
  EXPECT_EQ(a.epoch_order(3, 1), same.epoch_order(3, 1));
  EXPECT_NE(a.epoch_order(3, 1), a.epoch_order(4, 1));
  EXPECT_NE(a.epoch_order(3, 1), a.epoch_order(3, 0));
  EXPECT_NE(a.epoch_order(3, 1), other.epoch_order(3, 1));
}

TEST(Schedule, PutsEveryNodeEquallyOftenInEveryPlace) {
  const std::vector<NodeId> nodes = ids(0, 20);
  const Schedule schedule = Schedule::create(7, 4, {nodes}).value();
  std::vector<std::uint64_t> first(20);
  std::vector<std::uint64_t> pairs(20 * 20);
  constexpr std::uint32_t kEpochs = 20'000;
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<NodeId> order = schedule.epoch_order(epoch, 0);
    for (std::size_t place = 0; place < 20; ++place) {
      ++pairs[place * 20 + static_cast<std::size_t>(order[place])];
    }
    ++first[static_cast<std::size_t>(order[7])];
  }
  EXPECT_LT(std::abs(test::uniformity_z(first, kEpochs, 1)), 4.0);
  for (std::size_t place = 0; place < 20; ++place) {
    EXPECT_LT(std::abs(test::uniformity_z(std::span(pairs).subspan(place * 20, 20), kEpochs, 1)), 4.0)
        << place;
  }
}

TEST(Schedule, NumbersBatchesUniquelyOverRanksAndEpochs) {
  const std::vector<NodeId> nodes = ids(0, 10);
  const Schedule schedule = Schedule::create(1, 4, {nodes, nodes}).value();
  std::set<std::uint64_t> numbers;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint32_t batch = 0; batch < schedule.steps_per_epoch(); ++batch) {
      for (Rank rank = 0; rank < 2; ++rank) {
        numbers.insert(schedule.global_batch({epoch, batch, rank}));
      }
    }
  }
  EXPECT_EQ(numbers.size(), 18U);
  EXPECT_EQ(*numbers.rbegin(), 17U);
}

TEST(Schedule, GivesRanksWithFewerNodesThanStepsBatchesWithoutSeeds) {
  const std::vector<NodeId> many = ids(0, 100);
  const std::vector<NodeId> few = ids(200, 3);
  const std::vector<NodeId> none;
  const Schedule schedule = Schedule::create(1, 10, {many, few, none}).value();
  ASSERT_EQ(schedule.steps_per_epoch(), 10U);
  std::vector<NodeId> seen;
  for (std::uint32_t step = 0; step < 10; ++step) {
    const std::vector<NodeId> seeds = schedule.seeds({.batch = step, .rank = 1});
    EXPECT_LE(seeds.size(), 1U);
    seen.insert(seen.end(), seeds.begin(), seeds.end());
    EXPECT_TRUE(schedule.seeds({.batch = step, .rank = 2}).empty());
    EXPECT_EQ(schedule.total_seeds(step), 10 + seeds.size());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, few);
}

TEST(Schedule, RefusesWhatCannotBeScheduled) {
  const std::vector<NodeId> few = ids(0, 3);
  const std::vector<NodeId> twice = {4, 9, 2, 9};
  const std::vector<NodeId> negative = {4, -1, 2};
  const std::vector<NodeId> none;
  EXPECT_THAT(Schedule::create(1, 0, {few}).error().message, HasSubstr("batch size is 0"));
  EXPECT_THAT(Schedule::create(1, 8, {}).error().message, HasSubstr("0 ranks"));
  EXPECT_THAT(Schedule::create(1, 8, {none, none}).error().message,
              HasSubstr("none of the 2 ranks has training nodes"));
  EXPECT_THAT(Schedule::create(1, 8, {few, twice}).error().message,
              HasSubstr("rank 1: node 9 is listed more than once"));
  EXPECT_THAT(Schedule::create(1, 8, {negative}).error().message, HasSubstr("-1 is not a node id"));
}

}  // namespace
}  // namespace rudder::sample
