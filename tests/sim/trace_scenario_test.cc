// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/trace_scenario.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/sim/estimate.h"
#include "rudder/sim/replay.h"
#include "rudder/sim/steer_eval.h"

#include "sim/compare_run.h"
#include "sim/trace_folder.h"
#include "support/trace_maker.h"

namespace rudder::sim {
namespace {

using cache::testing_support::make_trace;
using testing::HasSubstr;
using testing_support::small_shape;

TraceWorld world() {
  TraceWorld made;
  made.window = 7;  // does not divide the 240 batches
  made.conditions.compute_seconds = 0.01;
  made.conditions.gradient_bytes = 1e4;
  made.conditions.link_bytes_per_second = 1e6;
  made.conditions.round_trip_seconds = 1e-3;
  return made;
}

Scenario scenario(const cache::Trace& trace, Rank rank, const char* buffer = "0.2") {
  Result<Scenario> made = scenario_of(trace, rank, cache::parse_buffer_size(buffer).value(), world());
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

TEST(TraceScenario, HoldsTheTracesBatchesInWholeWindows) {
  const cache::Trace trace = make_trace(small_shape(1));
  const Scenario made = scenario(trace, 1);
  ASSERT_EQ(made.batches.size(), 238U);
  EXPECT_EQ(made.windows(), 34U);
  for (StepId step = 0; step < made.batches.size(); ++step) {
    const auto rows = trace.ranks[1].batch(step);
    ASSERT_EQ(made.batches[step], std::vector<NodeId>(rows.begin(), rows.end()));
  }
  EXPECT_EQ(made.conditions.size(), made.batches.size());
  EXPECT_EQ(made.conditions.front().row_bytes, 516) << "the trace's rows of 512 bytes, and an id";
  EXPECT_EQ(made.capacity, static_cast<SlotId>(0.2 * static_cast<double>(trace.header.halo[1].size()) + 0.5));
  EXPECT_EQ(made.shape().context.owned_begin, 400);
  EXPECT_EQ(made.shape().context.owned_end, 800);
}

TEST(TraceScenario, RefusesWhatIsNotThere) {
  cache::Trace trace = make_trace(small_shape(1));
  const cache::BufferSize buffer = cache::parse_buffer_size("0.2").value();
  const auto refusal = [&](Rank rank, const cache::BufferSize& size, const TraceWorld& of) {
    const Result<Scenario> made = scenario_of(trace, rank, size, of);
    return made.ok() ? std::string("accepted") : made.error().message;
  };
  TraceWorld wide = world();
  wide.window = 241;
  EXPECT_THAT(refusal(2, buffer, world()), HasSubstr("rank 2 of a trace of 2"));
  EXPECT_THAT(refusal(0, buffer, wide), HasSubstr("240 batches are fewer than the 241"));
  EXPECT_THAT(refusal(0, cache::parse_buffer_size("0.0001").value(), world()), HasSubstr("no slot"));
  trace.header.indptr.clear();
  EXPECT_THAT(refusal(0, buffer, world()), HasSubstr("without degrees"));
}

/// The score policy as it replays a trace, without what a scenario leaves out of its end.
TEST(TraceScenario, AFixedPeriodIsTheScorePolicysOwn) {
  for (const std::uint32_t period : {1U, 3U, 8U}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      cache::Trace trace = make_trace(small_shape(seed));
      Scenario made = scenario(trace, 1);
      CompareOptions options;
      const Method method = parse_method("fixed:" + std::to_string(period)).value();
      const Result<SteeredRun> run = run_method(made, method, {}, options);
      ASSERT_TRUE(run.ok()) << run.error().message;
      EXPECT_EQ(made.window, 7U);
      trace.header.epochs = 1;
      trace.header.steps_per_epoch = 238;
      for (cache::Trace::RankBatches& rank : trace.ranks) {
        rank.offsets.resize(239);
        rank.rows.resize(rank.offsets.back());
      }
      cache::PolicySettings settings;
      settings.score_period = period;
      const Result<ReplayRow> replayed = replay(trace, *cache::find_policy("score").value(), settings,
                                                cache::parse_buffer_size("0.2").value());
      ASSERT_TRUE(replayed.ok()) << replayed.error().message;
      const cache::Counts& counts = replayed->by_rank[1];
      EXPECT_EQ(run->requests, counts.requests) << period << ", seed " << seed;
      EXPECT_EQ(run->hits, counts.hits) << period << ", seed " << seed;
      EXPECT_EQ(run->fetched, counts.fetched) << period << ", seed " << seed;
    }
  }
}

TEST(TraceScenario, WithoutABufferEachStepWaitsForAllOfItsRows) {
  const cache::Trace trace = make_trace(small_shape(2));
  const Scenario made = scenario(trace, 0);
  const SteeredRun run = run_without_buffer(made);
  double seconds = 0;
  std::uint64_t rows = 0;
  for (const std::vector<NodeId>& batch : made.batches) {
    rows += batch.size();
    seconds += (batch.empty() ? 0 : 1e-3 + static_cast<double>(batch.size()) * 516 / 1e6) + 0.01 + 1e4 / 1e6;
  }
  EXPECT_NEAR(run.cost, seconds, 1e-9 * seconds);
  EXPECT_EQ(run.by_window.size(), made.windows());
  EXPECT_EQ(run.requests, rows);
  EXPECT_EQ(run.fetched, rows);
  EXPECT_EQ(run.hits, 0U);
}

TEST(TraceScenario, ForesightCostsWhatItsPlanCostsAndNoMoreThanWaiting) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Scenario made = scenario(make_trace(small_shape(seed)), 0);
    const Result<SteeredRun> ahead = run_foresight(made, 4);
    ASSERT_TRUE(ahead.ok());
    ASSERT_EQ(ahead->actions.size(), made.windows());
    EXPECT_DOUBLE_EQ(run_plan(made, ahead->actions).value().cost, ahead->cost);
    // With a horizon over all of it each choice is made knowing what waiting for ever would cost.
    const Result<SteeredRun> all = run_foresight(made, made.windows());
    ASSERT_TRUE(all.ok());
    EXPECT_LE(all->cost, run_fixed(made, made.actions.fallback).value().cost * (1 + 1e-12));
  }
}

TEST(Estimate, IsStudentsInterval) {
  const std::vector<double> values = {4, 6, 8};  // deviation 2, standard error 2 / sqrt(3)
  EXPECT_DOUBLE_EQ(estimate(values).mean, 6);
  EXPECT_NEAR(estimate(values).half_width, 4.303 * 2 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(estimate(std::vector<double>{5}).half_width, 0);
}

}  // namespace
}  // namespace rudder::sim
