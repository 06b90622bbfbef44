// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/window.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::DoubleNear;
using testing_support::hostile_window;
using testing_support::window_at;

double metric(Metric which, const Window& window) {
  return metric_table()[which].value(window);
}

TEST(Metrics, HaveDistinctNamesAndBoundsThatTheirMarginsKeepApart) {
  ASSERT_EQ(metric_table().size(), kMetrics);
  std::set<std::string_view> names;
  for (const MetricInfo& info : metric_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_THAT(std::string(info.name), ::testing::MatchesRegex("[a-z_]+"));
    EXPECT_FALSE(info.words.empty());
    EXPECT_GT(info.margin, 0) << info.name;
    EXPECT_LT(info.low + info.margin, info.high - info.margin) << info.name;
    EXPECT_GT(info.low - info.margin, 0) << info.name;
  }
}

TEST(Metrics, StandInTheDocumentation) {
  std::ifstream file(std::string(RUDDER_TEST_SOURCE_DIR) + "/docs/steering.md");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const MetricInfo& info : metric_table()) {
    const std::size_t row = text.find("\n| `" + std::string(info.name) + "` | ");
    ASSERT_NE(row, std::string::npos) << info.name;
    std::ostringstream bounds;
    bounds << " | " << info.low << " | " << info.high << " | " << info.margin << " |";
    EXPECT_THAT(text.substr(row + 1, text.find('\n', row + 1) - row - 1), ::testing::EndsWith(bounds.str()));
  }
}

TEST(Metrics, OfAWindowWorkedOutByHand) {
  Window window = window_at(3, 60);
  window.steps_total = 80;
  window.counts.fetched = 50;  // 40 misses and 10 on top
  window.ready = 1;
  window.waiting = 3;
  window.resident = 400;
  window.stale = 100;
  window.fresh = 25;
  window.wire_bytes = 3000;
  window.link_bytes_per_second = 1000;
  window.owners = 4;
  window.self = 1;
  window.owner[0] = {10, 1.0, 10};
  window.owner[2] = {30, 0.8, 4};
  window.owner[3] = {10, 1.5, 10};
  EXPECT_DOUBLE_EQ(metric(kHitRate, window), 0.6);
  EXPECT_DOUBLE_EQ(metric(kFetchedPerRequest, window), 0.5);
  EXPECT_DOUBLE_EQ(metric(kExtraShare, window), 0.2);
  EXPECT_DOUBLE_EQ(metric(kStallShare, window), 0.05);
  EXPECT_DOUBLE_EQ(metric(kAllReduceShare, window), 0.15);
  EXPECT_DOUBLE_EQ(metric(kLinkUse, window), 0.3);
  EXPECT_DOUBLE_EQ(metric(kReadyShare, window), 0.25);
  EXPECT_DOUBLE_EQ(metric(kStaleShare, window), 0.25);
  EXPECT_DOUBLE_EQ(metric(kFreshShare, window), 0.25);
  EXPECT_DOUBLE_EQ(metric(kOwnerSkew, window), 1.8);  // 30 of 50 rows, three owners
  EXPECT_THAT(metric(kOwnerDelay, window), DoubleNear(0.2 / 0.15, 1e-12));
  EXPECT_DOUBLE_EQ(metric(kRemaining, window), 0.9);
}

TEST(Metrics, CallForNothingWhenAWindowSaysNothing) {
  const Window empty;
  EXPECT_EQ(metric(kHitRate, empty), 1);
  EXPECT_EQ(metric(kReadyShare, empty), 1);
  EXPECT_EQ(metric(kOwnerSkew, empty), 1);
  EXPECT_EQ(metric(kOwnerDelay, empty), 1);
  EXPECT_EQ(metric(kRemaining, empty), 1);
  for (const Metric which :
       {kFetchedPerRequest, kExtraShare, kStallShare, kAllReduceShare, kLinkUse, kStaleShare, kFreshShare}) {
    EXPECT_EQ(metric(which, empty), 0) << metric_table()[which].name;
  }
}

TEST(Metrics, CompareOwnersBeyondTheLastPlaceByTheirMean) {
  Window window;
  window.owners = kMaxOwners + 10;
  for (OwnerLoad& load : window.owner) {
    load.rows = 10;
  }
  window.owner[kMaxOwners - 1].rows = 110;  // eleven owners
  EXPECT_DOUBLE_EQ(metric(kOwnerSkew, window), 1);
  window.owner[5].rows = 20;
  EXPECT_DOUBLE_EQ(metric(kOwnerSkew, window), 20.0 * 74 / 750);
}

TEST(Metrics, SeeAnOwnerThatServesEverything) {
  Window window;
  window.owners = 8;
  window.owner[3].rows = 1000;
  EXPECT_DOUBLE_EQ(metric(kOwnerSkew, window), 8);
  window.self = 0;
  EXPECT_DOUBLE_EQ(metric(kOwnerSkew, window), 7);
}

TEST(Metrics, AreFiniteAndNotNegativeWhateverAWindowHolds) {
  CounterRng rng({1});
  for (int i = 0; i < 20'000; ++i) {
    const Features features = features_of(hostile_window(rng));
    for (std::size_t m = 0; m < kMetrics; ++m) {
      EXPECT_TRUE(std::isfinite(features[m]) && features[m] >= 0)
          << metric_table()[m].name << " = " << features[m] << " in window " << i;
    }
  }
}

TEST(Metrics, DoNotDependOnTheSizeOfTheRun) {
  Window small = window_at(1);
  small.steps_total = 100;
  small.resident = 10;
  small.stale = 4;
  small.fresh = 7;
  small.wire_bytes = 4000;
  small.link_bytes_per_second = 4000;
  small.owners = 3;
  small.owner[0] = {10, 0.5, 4};
  small.owner[1] = {5, 0.25, 4};
  small.owner[2] = {6, 0.25, 4};
  Window large = small;
  large.end *= 1000;
  large.steps_total *= 1000;
  for (double* seconds :
       {&large.seconds, &large.compute_seconds, &large.all_reduce_seconds, &large.stall_seconds}) {
    *seconds *= 1000;
  }
  for (std::uint64_t* count : {&large.counts.requests, &large.counts.hits, &large.counts.fetched,
                               &large.resident, &large.stale, &large.fresh, &large.wire_bytes}) {
    *count *= 1000;
  }
  for (OwnerLoad& load : large.owner) {
    load = {load.rows * 1000, load.seconds * 1000, load.answers * 1000};
  }
  const Features a = features_of(small);
  const Features b = features_of(large);
  for (std::size_t m = 0; m < kMetrics; ++m) {
    EXPECT_FLOAT_EQ(a[m], b[m]) << metric_table()[m].name;
  }
}

Features features_beyond_bounds(CounterRng& rng) {
  Features features{};
  for (std::size_t m = 0; m < kMetrics; ++m) {
    features[m] = static_cast<float>(3 * rng.unit() * metric_table()[m].high);
  }
  return features;
}

double literal_similarity(const Features& a, const Features& b) {
  long double dot = 0, aa = 0, bb = 0;
  for (std::size_t m = 0; m < kMetrics; ++m) {
    const MetricInfo& info = metric_table()[m];
    const auto scale = [&](float value) {
      const double scaled = -1 + 2 * (static_cast<double>(value) - info.low) / (info.high - info.low);
      return static_cast<long double>(std::max(-4.0, std::min(4.0, scaled)));
    };
    dot += scale(a[m]) * scale(b[m]);
    aa += scale(a[m]) * scale(a[m]);
    bb += scale(b[m]) * scale(b[m]);
  }
  return static_cast<double>(dot / (std::sqrt(aa) * std::sqrt(bb)));
}

TEST(Similarity, IsTheCosineOfTheScaledVectors) {
  CounterRng rng({2});
  for (int i = 0; i < 2000; ++i) {
    const Features a = features_beyond_bounds(rng);
    const Features b = features_beyond_bounds(rng);
    EXPECT_NEAR(similarity(a, b), literal_similarity(a, b), 1e-9);
    EXPECT_EQ(similarity(a, b), similarity(b, a));
    EXPECT_EQ(similarity(a, a), 1);
    EXPECT_LE(std::abs(similarity(a, b)), 1);
  }
}

TEST(Similarity, IsMinusOneForOpposites) {
  Features low{};
  Features high{};
  for (std::size_t m = 0; m < kMetrics; ++m) {
    low[m] = static_cast<float>(metric_table()[m].low);
    high[m] = static_cast<float>(metric_table()[m].high);
  }
  EXPECT_NEAR(similarity(low, high), -1, 1e-6);
}

TEST(Similarity, IsANumberForAnyFeatures) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Features broken{};
  broken.fill(nan);
  Features huge{};
  huge.fill(infinity);
  for (const Features& a : {broken, huge, Features{}}) {
    for (const Features& b : {broken, huge, Features{}}) {
      EXPECT_TRUE(std::isfinite(similarity(a, b)));
    }
  }
  EXPECT_EQ(similarity(huge, huge), 1);
  EXPECT_EQ(similarity(broken, broken), 1);
}

Level level_by_bounds(double value, const MetricInfo& info) {
  return value < info.low ? Level::kLow : value > info.high ? Level::kHigh : Level::kMedium;
}

TEST(LevelsOfWindows, OfTheFirstWindowGoByTheBounds) {
  CounterRng rng({3});
  for (int i = 0; i < 1000; ++i) {
    const Features features = features_beyond_bounds(rng);
    Levels levels;
    const LevelVector& now = levels.update(features);
    for (std::size_t m = 0; m < kMetrics; ++m) {
      EXPECT_EQ(now[m], level_by_bounds(static_cast<double>(features[m]), metric_table()[m]));
    }
  }
}

/// A value that swings around a bound by less than the margin.
TEST(LevelsOfWindows, NeverFlipInsideTheMargin) {
  CounterRng rng({4});
  for (int run = 0; run < 500; ++run) {
    Levels levels;
    const bool high = rng.below(2) == 0;
    LevelVector before = levels.update(features_beyond_bounds(rng));
    for (int i = 0; i < 100; ++i) {
      Features features{};
      for (std::size_t m = 0; m < kMetrics; ++m) {
        const MetricInfo& info = metric_table()[m];
        const double swing = (2 * rng.unit() - 1) * info.margin * 0.999;
        features[m] = static_cast<float>((high ? info.high : info.low) + swing);
      }
      const LevelVector now = levels.update(features);
      if (i > 0) {
        EXPECT_EQ(now, before);
      }
      before = now;
    }
  }
}

/// The rule itself, metric by metric: beyond a bound and its margin a level is left, short of it it is kept.
TEST(LevelsOfWindows, AreLeftExactlyWhenABoundIsPassedByMoreThanTheMargin) {
  CounterRng rng({5});
  Levels levels;
  LevelVector before = levels.update(features_beyond_bounds(rng));
  for (int i = 0; i < 5000; ++i) {
    const Features features = features_beyond_bounds(rng);
    const LevelVector now = levels.update(features);
    for (std::size_t m = 0; m < kMetrics; ++m) {
      const MetricInfo& info = metric_table()[m];
      const auto value = static_cast<double>(features[m]);
      const bool far_down = (before[m] == Level::kHigh && value < info.high - info.margin) ||
                            (before[m] == Level::kMedium && value < info.low - info.margin);
      const bool far_up = (before[m] == Level::kLow && value > info.low + info.margin) ||
                          (before[m] == Level::kMedium && value > info.high + info.margin);
      EXPECT_EQ(now[m], far_down || far_up ? level_by_bounds(value, info) : before[m]) << info.name;
    }
    before = now;
  }
}

TEST(LevelsOfWindows, StayWhenAValueIsNoNumber) {
  Levels levels;
  Features features{};
  features.fill(100);
  levels.update(features);
  const LevelVector before = levels.now();
  features.fill(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(levels.update(features), before);
}

}  // namespace
}  // namespace rudder::steer
