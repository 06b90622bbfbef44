// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/merge.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::sim {
namespace {

using testing::HasSubstr;

/// Four ranks of ten nodes each, three steps of random rows of others.
cache::Trace random_trace(std::uint64_t seed) {
  cache::Trace trace;
  cache::TraceHeader& header = trace.header;
  header.nodes = 40;
  header.epochs = 1;
  header.steps_per_epoch = 3;
  header.part_offsets = {0, 10, 20, 30, 40};
  CounterRng rng({seed});
  for (Rank rank = 0; rank < 4; ++rank) {
    const auto remote = [&] {
      std::set<NodeId> rows;
      while (rows.size() < 12) {
        const auto v = static_cast<NodeId>(rng.below(40));
        if (v < header.part_offsets[rank] || v >= header.part_offsets[rank + 1]) {
          rows.insert(v);
        }
      }
      return rows;
    };
    const auto halo = remote();
    header.halo.emplace_back(halo.begin(), halo.end());
    header.vip.emplace_back();
    for (int v = 0; v < 40; ++v) {
      header.vip.back().push_back(static_cast<float>(rng.unit()));
    }
    cache::Trace::RankBatches batches;
    batches.offsets.push_back(0);
    for (int step = 0; step < 3; ++step) {
      const auto rows = remote();
      batches.rows.insert(batches.rows.end(), rows.begin(), rows.end());
      batches.offsets.push_back(batches.rows.size());
    }
    trace.ranks.push_back(std::move(batches));
  }
  return trace;
}

TEST(MergeHosts, UnitesWhatAHostsRanksAskOfOthers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const cache::Trace trace = random_trace(seed);
    const auto merged = merge_hosts(trace, 2);
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged.value().header.part_offsets, (std::vector<NodeId>{0, 20, 40}));
    for (Rank host = 0; host < 2; ++host) {
      const auto is_own = [&](NodeId v) { return v / 20 == host; };
      for (StepId step = 0; step < 3; ++step) {
        std::vector<NodeId> want;
        for (NodeId v = 0; v < 40; ++v) {
          const auto asks = [&](Rank rank) {
            return std::ranges::binary_search(trace.ranks[rank].batch(step), v);
          };
          if (!is_own(v) && (asks(2 * host) || asks(2 * host + 1))) {
            want.push_back(v);
          }
        }
        const auto got = merged.value().ranks[host].batch(step);
        EXPECT_EQ(std::vector<NodeId>(got.begin(), got.end()), want);
      }
      for (NodeId v = 0; v < 40; ++v) {
        const auto& halo = merged.value().header.halo[host];
        const auto in = [&](Rank rank) { return std::ranges::count(trace.header.halo[rank], v) > 0; };
        EXPECT_EQ(std::ranges::count(halo, v), !is_own(v) && (in(2 * host) || in(2 * host + 1)) ? 1 : 0);
        const auto at = static_cast<std::size_t>(v);
        const double a = trace.header.vip[2 * host][at];
        const double b = trace.header.vip[2 * host + 1][at];
        EXPECT_NEAR(merged.value().header.vip[host][at], a + b - a * b, 1e-6);
      }
    }
  }
}

TEST(MergeHosts, OneRankAHostChangesNothing) {
  const cache::Trace trace = random_trace(1);
  const auto merged = merge_hosts(trace, 1);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged.value().header.halo, trace.header.halo);
  EXPECT_EQ(merged.value().header.part_offsets, trace.header.part_offsets);
  EXPECT_EQ(merged.value().ranks[3].rows, trace.ranks[3].rows);
}

TEST(MergeHosts, RefusesHostsThatDoNotComeOut) {
  EXPECT_THAT(merge_hosts(random_trace(1), 3).error().message,
              HasSubstr("4 ranks cannot be divided into hosts of 3"));
  EXPECT_FALSE(merge_hosts(random_trace(1), 0).ok());
}

}  // namespace
}  // namespace rudder::sim
