// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/cost.h"

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::steer {
namespace {

Conditions plain() {
  Conditions conditions;
  conditions.compute_seconds = 10;
  conditions.link_bytes_per_second = 100;
  conditions.row_bytes = 1;
  return conditions;
}

Setting depth_of(std::uint32_t depth) {
  Setting setting;
  setting.depth = depth;
  return setting;
}

TEST(StepClock, WaitsForTheFirstBatchThenHidesFetchesBehindCompute) {
  StepClock clock;
  const StepCost first = clock.step(plain(), {{300, 200}}, depth_of(1));
  EXPECT_DOUBLE_EQ(first.stall_seconds, 5);
  EXPECT_DOUBLE_EQ(first.seconds, 15);
  const StepCost second = clock.step(plain(), {{300, 200}}, depth_of(1));
  EXPECT_DOUBLE_EQ(second.stall_seconds, 0) << "moved from 5 to 10 while the first step ran until 15";
  EXPECT_DOUBLE_EQ(clock.now(), 25);
}

TEST(StepClock, StallsByWhatTheLinkCannotCarryInAStep) {
  StepClock clock;
  for (int step = 0; step < 5; ++step) {
    static_cast<void>(clock.step(plain(), {{1500}}, depth_of(4)));
  }
  EXPECT_DOUBLE_EQ(clock.step(plain(), {{1500}}, depth_of(4)).seconds, 15) << "15 s of link a step of 10 s";
}

TEST(StepClock, DepthCarriesOverABurst) {
  // Bursts of 20 s of link each fourth step, nothing else: 5 s a step on average.
  const auto seconds = [](std::uint32_t depth) {
    StepClock clock;
    for (int step = 0; step < 80; ++step) {
      static_cast<void>(clock.step(plain(), {{step % 4 == 3 ? 2000U : 0U}}, depth_of(depth)));
    }
    return clock.now();
  };
  EXPECT_DOUBLE_EQ(seconds(4), 800) << "hidden altogether";
  EXPECT_DOUBLE_EQ(seconds(1), 1000) << "each burst begins with the step before and takes twice as long";
}

TEST(StepClock, AddsTheRoundTripAndWaitsForTheSlowestOwner) {
  Conditions conditions = plain();
  conditions.round_trip_seconds = 1;
  conditions.owner_bytes_per_second = {100, 10};
  StepClock clock;
  EXPECT_DOUBLE_EQ(clock.step(conditions, {{100, 100}}, depth_of(1)).fetch_seconds, 11);
  StepClock other;
  EXPECT_DOUBLE_EQ(other.step(conditions, {{0, 0}}, depth_of(1)).fetch_seconds, 0) << "nothing is asked";
}

TEST(StepClock, SharesTheLinkWithAllReduce) {
  Conditions conditions = plain();
  conditions.gradient_bytes = 400;
  StepClock clock;
  EXPECT_DOUBLE_EQ(clock.step(conditions, {{0}}, depth_of(1)).all_reduce_seconds, 4) << "alone";
  // From 0 the next batch moves: 10 s alone, then half of the link until 14, then alone.
  const StepCost second = clock.step(conditions, {{1400}}, depth_of(1));
  EXPECT_DOUBLE_EQ(second.fetch_seconds, 10 + 4 + 2);
  EXPECT_DOUBLE_EQ(second.stall_seconds, 2);
  EXPECT_DOUBLE_EQ(second.all_reduce_seconds, 8) << "later fetches are taken to be as large as this one";
}

TEST(StepClock, ALimitOnFetchingLeavesMoreToAllReduce) {
  Conditions conditions = plain();
  conditions.gradient_bytes = 400;
  Setting limited = depth_of(4);
  limited.prefetch_bytes_per_second = 25;
  StepClock clock;
  static_cast<void>(clock.step(conditions, {{0}}, limited));
  const StepCost cost = clock.step(conditions, {{700}}, limited);
  EXPECT_DOUBLE_EQ(cost.fetch_seconds, 28);
  EXPECT_DOUBLE_EQ(cost.all_reduce_seconds, 400 / 75.0);
}

TEST(StepClock, PartsAddUpAndTimeNeverRunsBackwards) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CounterRng rng({seed, 3});
    StepClock clock;
    double sum = 0;
    for (int step = 0; step < 60; ++step) {
      Conditions conditions = plain();
      conditions.gradient_bytes = static_cast<double>(rng.below(3) * 300);
      conditions.link_bytes_per_second = 50 + static_cast<double>(rng.below(100));
      conditions.round_trip_seconds = rng.unit();
      Setting setting = depth_of(static_cast<std::uint32_t>(1 + rng.below(6)));
      setting.prefetch_bytes_per_second = static_cast<double>(rng.below(2) * 40);
      const StepCost cost = clock.step(conditions, {{rng.below(3000), rng.below(300)}}, setting);
      ASSERT_GE(cost.stall_seconds, 0) << seed;
      ASSERT_GE(cost.fetch_seconds, 0) << seed;
      ASSERT_DOUBLE_EQ(cost.seconds, cost.stall_seconds + cost.compute_seconds + cost.all_reduce_seconds);
      sum += cost.seconds;
      ASSERT_NEAR(clock.now(), sum, 1e-9 * sum) << seed;
    }
  }
}

}  // namespace
}  // namespace rudder::steer
