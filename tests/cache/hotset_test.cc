// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_driver.h"

namespace rudder::cache {
namespace {

using namespace testing_support;

/// The hot sets by a full count and a full sort.
std::vector<std::set<NodeId>> hot_sets(const Batches& batches, std::size_t steps_per_epoch,
                                       std::size_t capacity) {
  std::vector<std::set<NodeId>> sets;
  for (std::size_t begin = 0; begin < batches.size(); begin += steps_per_epoch) {
    std::map<NodeId, int> counts;
    for (std::size_t step = begin; step < std::min(batches.size(), begin + steps_per_epoch); ++step) {
      for (const NodeId row : batches[step]) {
        ++counts[row];
      }
    }
    std::vector<std::pair<int, NodeId>> order;
    for (const auto& [row, count] : counts) {
      order.emplace_back(-count, row);
    }
    std::ranges::sort(order);
    sets.emplace_back();
    for (std::size_t i = 0; i < std::min(capacity, order.size()); ++i) {
      sets.back().insert(order[i].second);
    }
  }
  return sets;
}

/// Rows fetched by the definition: the delta of each hot set, less what the batch before has just brought,
/// and all requests outside the set.
std::uint64_t fetched_by_definition(const Batches& batches, std::size_t steps_per_epoch,
                                    std::size_t capacity) {
  const auto sets = hot_sets(batches, steps_per_epoch, capacity);
  std::uint64_t fetched = sets.empty() ? 0 : sets[0].size();
  for (std::size_t step = 0; step < batches.size(); ++step) {
    const std::size_t epoch = step / steps_per_epoch;
    std::set<NodeId> moved;
    for (const NodeId row : batches[step]) {
      if (!sets[epoch].contains(row)) {
        moved.insert(row);
      }
    }
    if ((step + 1) % steps_per_epoch == 0 && epoch + 1 < sets.size()) {
      for (const NodeId row : sets[epoch + 1]) {
        if (!sets[epoch].contains(row)) {
          moved.insert(row);
        }
      }
    }
    fetched += moved.size();
  }
  return fetched;
}

TEST(HotSet, HoldsEachEpochsMostRequestedRows) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const std::size_t steps_per_epoch : {1U, 3U, 8U}) {
      const Batches batches = zipf_batches(seed, 200, 0.8, 24 + seed % 3, 20);
      for (const SlotId capacity : {0U, 1U, 20U, 60U, 300U}) {
        const PolicyContext context = context_of(capacity, steps_per_epoch);
        const Outcome out = run_policy(make_policy("hotset", context), capacity, batches);
        const auto sets = hot_sets(batches, steps_per_epoch, capacity);
        for (std::size_t step = 0; step < batches.size(); ++step) {
          const auto& hot = sets[step / steps_per_epoch];
          ASSERT_EQ(out.before[step], std::vector<NodeId>(hot.begin(), hot.end()))
              << "seed " << seed << " epoch of " << steps_per_epoch << " C " << capacity << " step " << step;
        }
        EXPECT_EQ(out.totals.fetched, fetched_by_definition(batches, steps_per_epoch, capacity));
      }
    }
  }
}

TEST(HotSet, WantsTheNextEpochOnlyAtTheBorder) {
  const auto policy = make_policy("hotset", context_of(1, 2));
  Residency buffer(1);
  const std::vector<NodeId> rows = {5};
  const std::vector<SlotId> hit = {0};
  EXPECT_TRUE(policy->wants_more());
  policy->reveal(0, rows);
  EXPECT_TRUE(policy->wants_more());
  policy->reveal(1, rows);
  EXPECT_FALSE(policy->wants_more());
  policy->start(buffer);
  EXPECT_EQ(buffer.row_at(0), 5);
  EXPECT_FALSE(policy->wants_more());
  policy->serve({0, rows, hit}, buffer);
  EXPECT_TRUE(policy->wants_more());
  const std::vector<NodeId> next = {6};
  policy->reveal(2, next);
  policy->reveal(3, next);
  EXPECT_FALSE(policy->wants_more());
  policy->serve({1, rows, hit}, buffer);
  EXPECT_EQ(buffer.row_at(0), 6);
}

}  // namespace
}  // namespace rudder::cache
