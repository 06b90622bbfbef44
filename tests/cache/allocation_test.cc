// SPDX-License-Identifier: Apache-2.0
// Counts calls of the global operator new: once warm, serving a batch allocates nothing.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace rudder::cache {
namespace {

using testing::community_scene;
using testing::make_policy;
using testing::Scene;

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
