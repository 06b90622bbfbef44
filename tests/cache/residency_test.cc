// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/policy.h"

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

TEST(Residency, HandsOutTheLowestSlotFirstAndThenTheOneFreedLast) {
  Residency buffer(3);
  EXPECT_EQ(buffer.free_slot(), 0U);
  buffer.place(0, 10);
  EXPECT_EQ(buffer.free_slot(), 1U);
  buffer.place(2, 12);
  EXPECT_EQ(buffer.free_slot(), 1U);
  buffer.place(1, 11);
  EXPECT_TRUE(buffer.full());
  buffer.clear(0);
  buffer.clear(2);
  EXPECT_EQ(buffer.free_slot(), 2U);
  EXPECT_EQ(buffer.size(), 1U);
  EXPECT_EQ(buffer.row_at(2), kNoNode);
  EXPECT_EQ(buffer.find(12), kNoSlot);
  EXPECT_EQ(buffer.find(11), 1U);
}

TEST(Residency, ReplacesTheRowInATakenSlot) {
  Residency buffer(1);
  buffer.place(0, 10);
  buffer.place(0, 20);
  EXPECT_EQ(buffer.find(10), kNoSlot);
  EXPECT_EQ(buffer.find(20), 0U);
  EXPECT_EQ(buffer.size(), 1U);
}

TEST(Residency, AgreesWithAnArrayUnderRandomChanges) {
  CounterRng rng({77});
  constexpr SlotId kSlots = 20;
  Residency buffer(kSlots);
  std::vector<NodeId> slots(kSlots, kNoNode);
  for (int change = 0; change < 20'000; ++change) {
    const auto slot = static_cast<SlotId>(rng.below(kSlots));
    const auto row = static_cast<NodeId>(rng.below(50));
    const bool resident = std::find(slots.begin(), slots.end(), row) != slots.end();
    const auto taken = kSlots - static_cast<SlotId>(std::count(slots.begin(), slots.end(), kNoNode));
    ASSERT_EQ(buffer.size(), taken);
    ASSERT_EQ(buffer.full(), taken == kSlots);
    ASSERT_EQ(buffer.find(row) != kNoSlot, resident);
    if (!buffer.full()) {
      ASSERT_EQ(slots[buffer.free_slot()], kNoNode);
    }
    if (slots[slot] != kNoNode && rng.below(2) == 0) {
      buffer.clear(slot);
      slots[slot] = kNoNode;
    } else if (!resident) {
      buffer.place(slot, row);
      slots[slot] = row;
    }
    ASSERT_EQ(buffer.row_at(slot), slots[slot]);
  }
}

TEST(ResidencyDeathTest, RejectsBrokenUse) {
  Residency buffer(2);
  EXPECT_DEATH(buffer.clear(0), "free slot");
  buffer.place(0, 10);
  EXPECT_DEATH(buffer.place(1, 10), "present");
  EXPECT_DEATH(buffer.place(2, 11), "outside");
  buffer.place(1, 11);
  EXPECT_DEATH(static_cast<void>(buffer.free_slot()), "full");
}

}  // namespace
}  // namespace rudder::cache
