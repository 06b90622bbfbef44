// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_driver.h"

namespace rudder::cache {
namespace {

using namespace testing_support;

/// Fewest rows that any fixed set of at most `capacity` of `rows` fetches, by trying all of them.
std::uint64_t best_fixed(const Batches& batches, std::size_t rows, int capacity) {
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t set = 0; set < (1U << rows); ++set) {
    if (std::popcount(set) > capacity) {
      continue;
    }
    auto fetched = static_cast<std::uint64_t>(std::popcount(set));
    for (const auto& batch : batches) {
      for (const NodeId row : batch) {
        fetched += ((set >> row) & 1U) == 0 ? 1U : 0U;
      }
    }
    best = std::min(best, fetched);
  }
  return best;
}

TEST(OracleStatic, FetchesAsLittleAsTheBestOfAllFixedSets) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Batches batches = zipf_batches(seed, 10, 0.7, 5, 1 + seed % 4);
    for (const SlotId capacity : {0U, 1U, 3U, 6U, 20U}) {
      const Outcome out = run_policy(make_policy("oracle-static", context_of(capacity)), capacity, batches);
      EXPECT_EQ(out.totals.fetched, best_fixed(batches, 10, static_cast<int>(capacity)))
          << "seed " << seed << " C " << capacity;
      EXPECT_EQ(out.before.front(), out.before.back());
    }
  }
}

TEST(OracleStatic, LeavesRowsAloneThatAreUsedOnce) {
  const Outcome out = run_policy(make_policy("oracle-static", context_of(5)), 5, {{1, 2}, {2, 3}, {4}});
  EXPECT_EQ(out.before.front(), (std::vector<NodeId>{2}));
  EXPECT_EQ(out.totals.fetched, 4U);
  EXPECT_EQ(out.totals.hits, 2U);
  EXPECT_EQ(out.fill.fetch, (std::vector<NodeId>{2}));
}

TEST(OracleStatic, ReplaysOnly) {
  EXPECT_FALSE(find_policy("oracle-static").value()->live);
}

}  // namespace
}  // namespace rudder::cache
