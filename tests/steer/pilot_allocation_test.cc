// SPDX-License-Identifier: Apache-2.0
// What the trainer's thread pays for being steered.
#include <atomic>

#include <gtest/gtest.h>

#include "rudder/steer/pilot.h"

#include "steer/live_run.h"
#include "support/allocation_counter.h"

namespace rudder::steer {
namespace {

using test::allocations;

/// Nothing else runs that could allocate: the pilot's threads wait for a buffer that never begins.
TEST(PilotAllocation, TrainedBatchesAllocateNothingAlsoWhenThereIsNoRoomForThem) {
  const testing_support::LiveWorld world(1);
  const testing_support::Steered steered = testing_support::make_pilot(
      testing_support::pilot_options(world, 4), replace_actions(), testing_support::random_choice(1, 2));
  TrainedBatch batch;
  batch.times = {.compute = 1, .all_reduce = 1, .stall = 1};
  steered.pilot->trained(batch);
  const std::size_t before = allocations;
  for (int i = 0; i < 10'000; ++i) {
    steered.pilot->trained(batch);
    steered.pilot->rebase(batch.traffic);
  }
  EXPECT_EQ(allocations - before, 0U);
}

TEST(PilotAllocation, TheCounterCounts) {
  const std::size_t before = allocations;
  const testing_support::LiveWorld world(1);
  EXPECT_GT(allocations - before, 3U);
}

}  // namespace
}  // namespace rudder::steer
