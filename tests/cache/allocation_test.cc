// SPDX-License-Identifier: Apache-2.0
// Counts calls of the global operator new: once warm, serving a batch allocates nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_counter.h"
#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using test::allocations;
using testing_support::community_scene;
using testing_support::make_policy;
using testing_support::Scene;

TEST(Allocation, TheCounterCounts) {
  const std::size_t before = allocations;
  const std::vector<int> something(3);
  EXPECT_EQ(allocations - before, something.size() / 3);
}

TEST(Allocation, TheSlotIndexAllocatesOnlyWhenBuilt) {
  SlotIndex index(1000);
  const std::size_t before = allocations;
  for (NodeId row = 0; row < 10'000; ++row) {
    index.insert(row, static_cast<SlotId>(row));
    if (row >= 999) {
      index.erase(row - 999);
    }
  }
  EXPECT_EQ(allocations, before);
}

TEST(Allocation, TheResidencyAllocatesOnlyWhenBuilt) {
  Residency buffer(100);
  const std::size_t before = allocations;
  for (NodeId row = 0; row < 1000; ++row) {
    buffer.place(static_cast<SlotId>(row % 100), row);
    if (row % 7 == 0) {
      buffer.clear(static_cast<SlotId>(row % 100));
    }
  }
  EXPECT_EQ(allocations, before);
}

class WarmPolicy : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Table, WarmPolicy,
                         ::testing::Values("none", "degree", "vip", "lru", "lfu", "clock", "lookahead"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(WarmPolicy, ServesWithoutAllocating) {
  constexpr SlotId kSlots = 300;
  constexpr std::size_t kWarm = 400;
  const Scene scene = community_scene(2, 2000, 800, 80);
  const auto policy = make_policy(GetParam(), scene.context(kSlots));
  Residency buffer(kSlots);
  std::vector<SlotId> slots(80);
  std::size_t revealed = 0;
  std::size_t before = 0;
  const auto reveal = [&] {
    policy->reveal(revealed, scene.batches[revealed]);
    ++revealed;
  };
  for (std::size_t step = 0; step < scene.batches.size(); ++step) {
    if (step == kWarm) {
      before = allocations;
    }
    while (revealed <= step || (policy->wants_more() && revealed < scene.batches.size())) {
      reveal();
    }
    if (step == 0) {
      policy->start(buffer);
    }
    buffer.find_many(scene.batches[step], slots);
    policy->serve({step, scene.batches[step], slots}, buffer);
  }
  EXPECT_EQ(allocations - before, 0U);
}

}  // namespace
}  // namespace rudder::cache
