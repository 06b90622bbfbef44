// SPDX-License-Identifier: Apache-2.0
// The private building blocks of policies: lists and heap of slots, chained future uses.
#include <algorithm>
#include <deque>
#include <list>
#include <set>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

#include "cache/future_uses.h"
#include "cache/slot_heap.h"
#include "cache/slot_lists.h"
#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

std::vector<SlotId> forwards(const SlotLists& lists, std::uint32_t list) {
  std::vector<SlotId> slots;
  for (SlotId slot = lists.front(list); slot != kNoSlot; slot = lists.after(slot)) {
    slots.push_back(slot);
  }
  return slots;
}

std::vector<SlotId> backwards(const SlotLists& lists, std::uint32_t list) {
  std::vector<SlotId> slots;
  for (SlotId slot = lists.back(list); slot != kNoSlot; slot = lists.before(slot)) {
    slots.push_back(slot);
  }
  std::reverse(slots.begin(), slots.end());
  return slots;
}

TEST(SlotLists, AgreeWithStandardListsUnderRandomChanges) {
  constexpr SlotId kSlots = 12;
  constexpr std::uint32_t kLists = 3;
  CounterRng rng({5});
  SlotLists lists(kSlots, kLists);
  std::vector<std::list<SlotId>> reference(kLists);
  std::vector<std::uint32_t> list_of(kSlots, kLists);
  for (int change = 0; change < 20'000; ++change) {
    const auto slot = static_cast<SlotId>(rng.below(kSlots));
    const auto list = static_cast<std::uint32_t>(rng.below(kLists));
    if (rng.below(20) == 0) {
      const auto to = (list + 1) % kLists;
      lists.append(to, list);
      reference[to].splice(reference[to].end(), reference[list]);
      std::replace(list_of.begin(), list_of.end(), list, to);
    } else if (list_of[slot] != kLists) {
      lists.remove(slot);
      reference[list_of[slot]].remove(slot);
      list_of[slot] = kLists;
    } else if (rng.below(2) == 0) {
      lists.push_back(list, slot);
      reference[list].push_back(slot);
      list_of[slot] = list;
    } else {
      lists.push_front(list, slot);
      reference[list].push_front(slot);
      list_of[slot] = list;
    }
    for (std::uint32_t i = 0; i < kLists; ++i) {
      const std::vector<SlotId> expected(reference[i].begin(), reference[i].end());
      ASSERT_EQ(forwards(lists, i), expected);
      ASSERT_EQ(backwards(lists, i), expected);
      ASSERT_EQ(lists.empty(i), expected.empty());
    }
  }
}

TEST(SlotHeap, GivesTheLeastWorthUnderRandomChanges) {
  constexpr SlotId kSlots = 40;
  CounterRng rng({6});
  SlotHeap heap(kSlots);
  std::set<std::tuple<double, NodeId, SlotId>> reference;  // score, -row, slot
  std::vector<std::tuple<double, NodeId, SlotId>> held(kSlots);
  std::vector<bool> present(kSlots, false);
  for (int change = 0; change < 30'000; ++change) {
    const auto slot = static_cast<SlotId>(rng.below(kSlots));
    if (present[slot]) {
      heap.erase(slot);
      reference.erase(held[slot]);
    } else {
      const auto score = static_cast<double>(rng.below(5));
      const NodeId row = static_cast<NodeId>(rng.below(1000)) * kSlots + slot;
      heap.insert({score, row, slot});
      held[slot] = {score, -row, slot};
      reference.insert(held[slot]);
    }
    present[slot] = !present[slot];
    ASSERT_EQ(heap.empty(), reference.empty());
    if (!heap.empty()) {
      ASSERT_EQ(heap.top().slot, std::get<2>(*reference.begin()));
    }
  }
}

void compare_future_uses(std::uint64_t seed, std::uint32_t first_use) {
  CounterRng rng({seed});
  FutureUses uses(first_use);
  std::deque<std::vector<NodeId>> window;
  for (int change = 0; change < 1500; ++change) {
    if (window.empty() || rng.below(100) < (change < 700 ? 60U : 45U)) {
      std::set<NodeId> rows;
      for (std::uint64_t draws = rng.below(12); draws > 0; --draws) {
        rows.insert(static_cast<NodeId>(rng.below(60)));
      }
      std::vector<NodeId> expected_first;
      for (const NodeId row : rows) {
        if (std::none_of(window.begin(), window.end(), [&](const auto& batch) {
              return std::binary_search(batch.begin(), batch.end(), row);
            })) {
          expected_first.push_back(row);
        }
      }
      window.emplace_back(rows.begin(), rows.end());
      uses.clear_first_uses();
      uses.add(window.back());
      ASSERT_EQ(uses.first_uses().size(), expected_first.size());
      for (std::size_t i = 0; i < expected_first.size(); ++i) {
        ASSERT_EQ(uses.first_uses()[i].row, expected_first[i]);
        ASSERT_EQ(uses.first_uses()[i].step, uses.end() - 1);
      }
    } else {
      uses.pop(window.front());
      window.pop_front();
    }
    ASSERT_EQ(uses.end() - uses.begin(), window.size());
    ASSERT_EQ(uses.front_size(), window.empty() ? 0 : window.front().size());
    std::set<NodeId> after_front;
    for (std::size_t i = 1; i < window.size(); ++i) {
      after_front.insert(window[i].begin(), window[i].end());
    }
    ASSERT_EQ(uses.distinct_after_front(), after_front.size());
    for (std::size_t i = 0; i < uses.front_size(); ++i) {
      FutureUses::Step expected = FutureUses::kUnknown;
      for (std::size_t later = window.size() - 1; later > 0; --later) {
        if (std::binary_search(window[later].begin(), window[later].end(), window.front()[i])) {
          expected = uses.begin() + static_cast<FutureUses::Step>(later);
        }
      }
      ASSERT_EQ(uses.next_use(i), expected);
    }
  }
}

TEST(FutureUses, ChainTheUsesOfEachRow) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    compare_future_uses(seed, 0);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(FutureUses, SurviveTheWrapAroundOfUseNumbers) {
  compare_future_uses(7, (std::uint32_t{1} << 31) - 700);
}

TEST(TopRows, TakesTheBestAndBreaksTiesByLowerId) {
  const std::vector<Scored<int>> rows = {{5, 9}, {7, 4}, {5, 2}, {5, 3}, {1, 1}};
  EXPECT_THAT(top_rows(rows, 3), ::testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(top_rows(rows, 0), ::testing::IsEmpty());
  EXPECT_THAT(top_rows(rows, 10), ::testing::ElementsAre(1, 2, 3, 4, 9));
}

}  // namespace
}  // namespace rudder::cache
