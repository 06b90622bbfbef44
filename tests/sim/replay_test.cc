// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/replay.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_maker.h"

namespace rudder::sim {
namespace {

using cache::BufferSize;
using cache::Counts;
using cache::PolicyInfo;
using cache::PolicySettings;
using cache::Trace;
using cache::testing_support::make_trace;
using cache::testing_support::TraceShape;
using testing::HasSubstr;

std::vector<const PolicyInfo*> every_policy() {
  std::vector<const PolicyInfo*> all;
  for (const PolicyInfo& info : cache::policy_table()) {
    all.push_back(&info);
  }
  return all;
}

std::vector<BufferSize> sizes(std::initializer_list<const char*> texts) {
  std::vector<BufferSize> out;
  for (const char* text : texts) {
    out.push_back(cache::parse_buffer_size(text).value());
  }
  return out;
}

bool same(const Counts& a, const Counts& b) {
  return a.requests == b.requests && a.hits == b.hits && a.fetched == b.fetched && a.bypassed == b.bypassed;
}

TraceShape shape_of(std::uint64_t seed) {
  CounterRng rng({seed, 77});
  TraceShape shape;
  shape.seed = seed;
  shape.ranks = static_cast<Rank>(1 + rng.below(4));
  shape.nodes_per_part = 20 + rng.below(300);
  shape.epochs = static_cast<std::uint32_t>(1 + rng.below(4));
  shape.steps_per_epoch = static_cast<std::uint32_t>(1 + rng.below(9));
  shape.draws = rng.below(120);
  shape.exponent = 1.2 * rng.unit();
  return shape;
}

TEST(Replay, CountsOfAllPoliciesHoldTogetherOnRandomTraces) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Trace trace = make_trace(shape_of(seed));
    const auto buffers = sizes({"0", "1", "7", "0.25", "1.0", "5000"});
    const auto rows = replay_all(trace, every_policy(), PolicySettings{}, buffers, 2, {});
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), buffers.size() * every_policy().size());
    std::uint64_t requests = 0;
    std::uint64_t distinct = 0;
    for (const auto& batches : trace.ranks) {
      requests += batches.rows.size();
      distinct += std::set<NodeId>(batches.rows.begin(), batches.rows.end()).size();
    }
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const ReplayRow& row = (*rows)[i];
      SCOPED_TRACE(fmt::format("seed {} policy {} buffer {}", seed, row.policy, row.buffer));
      EXPECT_EQ(row.policy, every_policy()[i % every_policy().size()]->name);
      EXPECT_EQ(row.buffer, buffers[i / every_policy().size()].text);
      Counts sum;
      for (const Counts& counts : row.by_rank) {
        sum += counts;
      }
      EXPECT_TRUE(same(sum, row.counts));
      EXPECT_EQ(row.by_rank.size(), trace.ranks.size());
      EXPECT_EQ(row.counts.requests, requests);
      EXPECT_GE(row.counts.fetched, row.counts.requests - row.counts.hits);
      EXPECT_LE(row.counts.bypassed, row.counts.requests - row.counts.hits);
      EXPECT_GE(row.counts.fetched, *row.min_fetched);
      EXPECT_GE(*row.min_fetched, distinct);
      EXPECT_GE(row.ratio_to_min().value(), 1.0);
      if (row.policy == "none") {
        EXPECT_EQ(row.counts.hits, 0U);
        EXPECT_EQ(row.counts.fetched, requests);
        EXPECT_EQ(row.ratio_to_none(), 1.0);
      }
      if (row.policy == "min") {
        EXPECT_EQ(row.ratio_to_min().value(), 1.0);
      }
    }
  }
}

TEST(Replay, ThreadsChangeNothing) {
  const Trace trace = make_trace({.seed = 3, .ranks = 3});
  const auto buffers = sizes({"0.1", "40"});
  const auto one = replay_all(trace, every_policy(), PolicySettings{}, buffers, 1, {}).value();
  const auto many = replay_all(trace, every_policy(), PolicySettings{}, buffers, 5, {}).value();
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].policy, many[i].policy);
    EXPECT_EQ(one[i].slots, many[i].slots);
    for (std::size_t rank = 0; rank < one[i].by_rank.size(); ++rank) {
      EXPECT_TRUE(same(one[i].by_rank[rank], many[i].by_rank[rank])) << one[i].policy << " rank " << rank;
    }
    const auto alone = replay(trace, *every_policy()[i % every_policy().size()], PolicySettings{},
                              buffers[i / every_policy().size()]);
    ASSERT_TRUE(alone.ok());
    EXPECT_TRUE(same(alone->counts, one[i].counts));
    EXPECT_FALSE(alone->ratio_to_min().has_value());
  }
}

TEST(Replay, HearsOfEachAskedRowOnceAndComputesMinOnTheSide) {
  const Trace trace = make_trace({.seed = 4});
  const auto buffers = sizes({"0.1", "0.2"});
  std::vector<std::string> heard;  // no lock: calls never overlap
  const auto rows = replay_all(
      trace, {cache::find_policy("lru").value(), cache::find_policy("degree").value()}, PolicySettings{},
      buffers, 3, [&](const ReplayRow& row) { heard.push_back(row.policy + " " + row.buffer); });
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_THAT(heard, testing::UnorderedElementsAre("lru 0.1", "degree 0.1", "lru 0.2", "degree 0.2"));
  ASSERT_EQ(rows->size(), 4U);
  for (const ReplayRow& row : *rows) {
    const auto min = replay(trace, *cache::find_policy("min").value(), PolicySettings{},
                            cache::parse_buffer_size(row.buffer).value());
    EXPECT_EQ(row.min_fetched, min->counts.fetched);
  }
}

TEST(Replay, SlotsFollowEachRanksHalo) {
  Trace trace = make_trace({.seed = 5, .ranks = 3});
  trace.header.halo[1].resize(10);
  const auto row = replay(trace, *cache::find_policy("lru").value(), PolicySettings{},
                          cache::parse_buffer_size("0.5").value());
  std::uint64_t slots = 0;
  for (const auto& halo : trace.header.halo) {
    slots += (halo.size() + 1) / 2;
  }
  EXPECT_EQ(row->slots, slots);
}

TEST(Replay, RefusesWhatAPolicyCannotRunOn) {
  const Trace good = make_trace({.seed = 6});
  const auto buffers = sizes({"0.1"});
  const auto refusal = [&](const char* policy, auto change) {
    Trace trace = good;
    PolicySettings settings;
    change(trace, settings);
    const auto rows = replay_all(trace, {cache::find_policy(policy).value()}, settings, buffers, 2, {});
    const auto alone = replay(trace, *cache::find_policy(policy).value(), settings, buffers[0]);
    EXPECT_EQ(rows.ok(), alone.ok());
    return rows.ok() ? std::string("accepted") : rows.error().message;
  };
  EXPECT_EQ(refusal("vip", [](Trace&, PolicySettings&) {}), "accepted");
  EXPECT_EQ(refusal("lru", [](Trace& t, PolicySettings&) { t.header.vip.clear(); }), "accepted");
  EXPECT_THAT(refusal("vip", [](Trace& t, PolicySettings&) { t.header.vip.clear(); }),
              HasSubstr("policy vip: the trace holds no inclusion probabilities of rank 0"));
  EXPECT_THAT(refusal("vip", [](Trace& t, PolicySettings&) { t.header.vip[1].clear(); }),
              HasSubstr("of rank 1"));
  EXPECT_THAT(refusal("degree", [](Trace& t, PolicySettings&) { t.header.indptr.clear(); }),
              HasSubstr("0 degrees for 1000 nodes"));
  EXPECT_THAT(refusal("score", [](Trace&, PolicySettings& s) { s.score_init = "ramdom"; }),
              HasSubstr("did you mean 'random'?"));
  EXPECT_THAT(refusal("lru", [](Trace& t, PolicySettings&) { t.ranks.pop_back(); }),
              HasSubstr("batches of 1 ranks"));
  EXPECT_THAT(refusal("lru", [](Trace& t, PolicySettings&) { t.ranks[1].offsets.pop_back(); }),
              HasSubstr("rank 1 has 29 batches of 30"));
}

TEST(Replay, AnEmptyTraceHasRatiosOfOne) {
  const Trace trace = make_trace({.seed = 7, .epochs = 0});
  const auto rows = replay_all(trace, every_policy(), PolicySettings{}, sizes({"0"}), 2, {});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  for (const ReplayRow& row : *rows) {
    EXPECT_EQ(row.counts.requests, 0U);
    EXPECT_EQ(row.ratio_to_none(), 1.0) << row.policy;
    EXPECT_EQ(row.ratio_to_min().value(), 1.0) << row.policy;
  }
}

}  // namespace
}  // namespace rudder::sim
