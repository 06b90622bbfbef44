// SPDX-License-Identifier: Apache-2.0
// Collecting windows allocates nothing, from the first batch on.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/observer.h"

#include "steer/observed_run.h"
#include "support/allocation_counter.h"

namespace rudder::steer {
namespace {

using test::allocations;

TEST(ObserverAllocation, TheCounterCounts) {
  const std::size_t before = allocations;
  const auto made = Observer::create({});
  ASSERT_TRUE(made.ok());
  EXPECT_GT(allocations - before, 3U);
}

TEST(ObserverAllocation, NothingIsAllocatedByBatchesWindowsOrTheirHandOver) {
  const auto run = testing_support::planned_run("lru", 500, 4000, 400, 200, 1);
  const auto load = processor_load();
  ASSERT_TRUE(load.ok()) << load.error().message;
  const auto watching = Observer::create(
      {.batches = 4, .owners = 4, .slots = 500, .rows = 1000, .windows = 3, .host = load->get()});
  ASSERT_TRUE(watching.ok());
  const std::size_t before = allocations;
  std::size_t windows = 0;
  for (const testing_support::PlannedBatch& each : run) {
    (*watching)->batch(each.observed);
    if (each.plan.step % 50 == 49) {
      (*watching)->holds(each.plan.step);
      for (Window window; (*watching)->ring().take(window);) {
        ++windows;
      }
    }
  }
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_EQ(windows, 12U);
  EXPECT_GT((*watching)->ring().dropped(), 0U);
}

}  // namespace
}  // namespace rudder::steer
