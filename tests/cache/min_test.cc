// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::Batches;
using testing_support::fetched_rows;
using testing_support::make_policy;
using testing_support::plan_run;
using testing_support::random_scene;
using testing_support::Scene;

/// Fewest rows fetched, by dynamic programming over all buffer contents (bit sets of rows). Any set may be
/// fetched before the first batch and on top of each batch; a batch's misses are fetched, then any set of at
/// most `capacity` rows may be held, at the price of those that were neither in the buffer nor in the batch.
std::uint64_t exhaustive_minimum(const Batches& batches, unsigned rows, SlotId capacity) {
  constexpr auto kNever = std::numeric_limits<std::uint64_t>::max();
  const std::uint32_t sets = std::uint32_t{1} << rows;
  const auto count = [](std::uint32_t set) { return static_cast<std::uint64_t>(std::popcount(set)); };
  std::vector<std::uint64_t> best(sets, kNever);
  for (std::uint32_t held = 0; held < sets; ++held) {
    if (count(held) <= capacity) {
      best[held] = count(held);
    }
  }
  for (const std::vector<NodeId>& batch : batches) {
    std::uint32_t requested = 0;
    for (const NodeId row : batch) {
      requested |= std::uint32_t{1} << row;
    }
    std::vector<std::uint64_t> after(sets, kNever);
    for (std::uint32_t held = 0; held < sets; ++held) {
      for (std::uint32_t next = 0; best[held] != kNever && next < sets; ++next) {
        if (count(next) <= capacity) {
          const std::uint64_t cost = count(requested & ~held) + count(next & ~(held | requested));
          after[next] = std::min(after[next], best[held] + cost);
        }
      }
    }
    best = std::move(after);
  }
  return *std::min_element(best.begin(), best.end());
}

TEST(ExhaustiveMinimum, AgreesWithHandWorkedExamples) {
  EXPECT_EQ(exhaustive_minimum({{0, 1}, {0, 1}, {0, 1}}, 2, 2), 2U);
  EXPECT_EQ(exhaustive_minimum({{0, 1}, {0, 1}, {0, 1}}, 2, 1), 4U);
  EXPECT_EQ(exhaustive_minimum({{0, 1}, {0, 1}, {0, 1}}, 2, 0), 6U);
  // One slot: keep 0 over batch {1}, which bypasses.
  EXPECT_EQ(exhaustive_minimum({{0}, {1}, {0}, {1}}, 2, 1), 3U);
}

TEST(Min, FetchesAsFewRowsAsExhaustiveSearch) {
  constexpr unsigned kRows = 6;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Scene scene = random_scene(seed, kRows, 2 + seed % 6, 1 + seed % 5);
    for (auto& batch : scene.batches) {
      for (NodeId& row : batch) {
        row -= scene.owned;
      }
    }
    for (const SlotId capacity : {0U, 1U, 2U, 3U}) {
      ASSERT_EQ(fetched_rows(scene, "min", capacity), exhaustive_minimum(scene.batches, kRows, capacity))
          << "seed " << seed << " capacity " << capacity;
    }
  }
}

TEST(Min, FetchesAsFewRowsAsExhaustiveSearchOverSevenRows) {
  constexpr unsigned kRows = 7;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    Scene scene = random_scene(seed, kRows, 6, 4);
    for (auto& batch : scene.batches) {
      for (NodeId& row : batch) {
        row -= scene.owned;
      }
    }
    ASSERT_EQ(fetched_rows(scene, "min", 3), exhaustive_minimum(scene.batches, kRows, 3)) << "seed " << seed;
  }
}

TEST(Min, KeepsTheRowsWithTheNearestNextUse) {
  Scene scene;
  scene.nodes = 10;
  scene.batches = {{1, 2, 3}, {3}, {1, 4}, {2}, {4}, {1}};
  // Two slots. After batch 0 rows 3 and 1 are needed first; 2 is bypassed and comes again in batch 3. After
  // batch 2 rows 4 and 1 are left; 2 is never used after batch 3 and is not admitted.
  const std::vector<Plan> plans = plan_run(scene, make_policy("min", scene.context(2)), 2);
  std::vector<std::vector<NodeId>> fetched;
  std::vector<std::uint64_t> bypassed;
  for (const Plan& plan : plans) {
    fetched.push_back(plan.fetch);
    bypassed.push_back(plan.counts.bypassed);
  }
  EXPECT_THAT(fetched, ::testing::ElementsAre(std::vector<NodeId>{1, 2, 3}, std::vector<NodeId>{},
                                              std::vector<NodeId>{4}, std::vector<NodeId>{2},
                                              std::vector<NodeId>{}, std::vector<NodeId>{}));
  EXPECT_THAT(bypassed, ::testing::ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(Min, FetchesEachRowOnceWhenAllFit) {
  const Scene scene = random_scene(5, 30, 40, 10);
  std::set<NodeId> rows;
  for (const auto& batch : scene.batches) {
    rows.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(fetched_rows(scene, "min", static_cast<SlotId>(rows.size())), rows.size());
}

}  // namespace
}  // namespace rudder::cache
