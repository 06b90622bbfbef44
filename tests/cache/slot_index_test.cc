// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/slot_index.h"

#include <limits>
#include <unordered_map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::cache {
namespace {

TEST(SlotIndex, FindsNothingWhenEmpty) {
  for (const std::size_t capacity : {0U, 1U, 2U, 1000U}) {
    const SlotIndex index(capacity);
    EXPECT_EQ(index.find(0), kNoSlot);
    EXPECT_EQ(index.find(kNoNode), kNoSlot);
    EXPECT_EQ(index.find(std::numeric_limits<NodeId>::max()), kNoSlot);
  }
}

TEST(SlotIndex, HoldsAsManyRowsAsItsCapacity) {
  for (const std::size_t capacity : {1U, 2U, 3U, 64U, 65U, 1000U}) {
    SlotIndex index(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      index.insert(static_cast<NodeId>(i * 7), static_cast<SlotId>(i));
    }
    EXPECT_EQ(index.size(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(index.find(static_cast<NodeId>(i * 7)), i);
      EXPECT_EQ(index.find(static_cast<NodeId>(i * 7 + 1)), kNoSlot);
    }
  }
}

TEST(SlotIndex, AgreesWithAStandardMapUnderRandomChanges) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    SCOPED_TRACE(seed);
    CounterRng rng({seed, 1});
    const std::size_t capacity = 1 + rng.below(100);
    SlotIndex index(capacity);
    std::unordered_map<NodeId, SlotId> reference;
    for (int change = 0; change < 20'000; ++change) {
      const auto row = static_cast<NodeId>(rng.below(3 * capacity) << (seed * 8));
      const auto slot = static_cast<SlotId>(rng.below(kNoSlot));
      const auto at = reference.find(row);
      if (at != reference.end() && rng.below(2) == 0) {
        index.erase(row);
        reference.erase(at);
      } else if (at != reference.end()) {
        ASSERT_EQ(index.exchange(row, slot), at->second);
        at->second = slot;
      } else if (reference.size() < capacity) {
        index.insert(row, slot);
        reference[row] = slot;
      }
      const auto probe = static_cast<NodeId>(rng.below(3 * capacity) << (seed * 8));
      const auto expected = reference.find(probe);
      ASSERT_EQ(index.find(probe), expected == reference.end() ? kNoSlot : expected->second);
      ASSERT_EQ(index.size(), reference.size());
    }
  }
}

TEST(SlotIndex, FindsManyAsItFindsOne) {
  SlotIndex index(500);
  for (SlotId slot = 0; slot < 500; ++slot) {
    index.insert(NodeId{slot} * 3, slot);
  }
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U}) {
    std::vector<NodeId> rows;
    std::vector<SlotId> expected;
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<NodeId>(i));
      expected.push_back(i % 3 == 0 ? static_cast<SlotId>(i / 3) : kNoSlot);
    }
    std::vector<SlotId> found(count, 12'345);
    index.find_many(rows, found);
    EXPECT_EQ(found, expected);
  }
}

TEST(SlotIndex, KeepsItsRowsWhenItGrows) {
  SlotIndex index(3);
  index.insert(5, 50);
  index.insert(6, 60);
  index.insert(7, 70);
  index.grow(2);
  EXPECT_EQ(index.capacity(), 3U);
  index.grow(100);
  EXPECT_EQ(index.capacity(), 100U);
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.find(5), 50U);
  EXPECT_EQ(index.find(6), 60U);
  EXPECT_EQ(index.find(7), 70U);
  EXPECT_EQ(index.exchange(8, 80), kNoSlot);
}

TEST(SlotIndexDeathTest, RejectsBrokenUse) {
  SlotIndex index(1);
  index.insert(1, 10);
  EXPECT_DEATH(index.insert(2, 20), "full");
  EXPECT_DEATH(index.insert(1, 20), "present");
  EXPECT_DEATH(index.erase(2), "absent");
}

}  // namespace
}  // namespace rudder::cache
