// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/guard.h"

#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::window_at;

/// The definition: for each value since the last shift, the deviations of all values from the means of their
/// time, summed anew.
class LiteralPageHinkley {
 public:
  LiteralPageHinkley(double slack, double threshold) : slack_(slack), threshold_(threshold) {}

  bool add(double value) {
    values_.push_back(value);
    double up = 0, least = 0, down = 0, most = 0;
    for (std::size_t t = 0; t < values_.size(); ++t) {
      double mean = 0;
      for (std::size_t i = 0; i <= t; ++i) {
        mean += values_[i] / static_cast<double>(t + 1);
      }
      up += values_[t] - mean - slack_;
      down += values_[t] - mean + slack_;
      least = std::min(least, up);
      most = std::max(most, down);
    }
    const bool shift = up - least > threshold_ || most - down > threshold_;
    if (shift) {
      values_.clear();
    }
    return shift;
  }

 private:
  double slack_, threshold_;
  std::vector<double> values_;
};

TEST(PageHinkleyTest, IsTheLiteralTest) {
  CounterRng rng({1});
  int shifts = 0;
  for (int run = 0; run < 60; ++run) {
    const double slack = 0.02 * rng.unit();
    const double threshold = 0.05 + rng.unit();
    PageHinkley fast(slack, threshold);
    LiteralPageHinkley slow(slack, threshold);
    double level = rng.unit();
    for (int i = 0; i < 150; ++i) {
      level = rng.below(40) == 0 ? rng.unit() : level;
      const double value = level + 0.05 * (rng.unit() - 0.5);
      const bool shift = fast.add(value);
      ASSERT_EQ(shift, slow.add(value)) << "run " << run << ", value " << i;
      shifts += shift ? 1 : 0;
    }
  }
  EXPECT_GT(shifts, 60);
}

TEST(PageHinkleyTest, FindsAJumpAtOnceAndASlowRiseInTheEnd) {
  PageHinkley jump(0.01, 0.1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(jump.add(0.5));
  }
  EXPECT_TRUE(jump.add(0.9));
  EXPECT_FALSE(jump.add(0.9));  // it has started anew: 0.9 is the mean now

  PageHinkley rise(0.01, 0.1);
  int found = 0;
  for (int i = 0; i < 200 && found == 0; ++i) {
    found = rise.add(0.5 + 0.002 * i) ? i : 0;
  }
  EXPECT_GT(found, 10);
}

TEST(PageHinkleyTest, PassesOverWhatIsNoNumber) {
  PageHinkley test(0.01, 0.1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(test.add(0.5));
  }
  EXPECT_FALSE(test.add(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(test.add(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(test.add(0.5));
  EXPECT_TRUE(test.add(0.1));
}

std::vector<std::uint64_t> fired(Trigger& trigger, std::uint64_t windows, Duration each = from_seconds(1)) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < windows; ++i) {
    if (trigger.fires(window_at(i), TimePoint(i * each))) {
      result.push_back(i);
    }
  }
  return result;
}

TEST(TriggerTest, ByWindowsFiresAtTheEndOfEverySoMany) {
  Trigger each({.by = "windows", .every = 1});
  EXPECT_THAT(fired(each, 4), ElementsAre(0, 1, 2, 3));
  Trigger third({.by = "windows", .every = 3});
  EXPECT_THAT(fired(third, 10), ElementsAre(2, 5, 8));
}

TEST(TriggerTest, ByTimeFiresWhenThePeriodHasPassed) {
  Trigger trigger({.by = "time", .period = from_seconds(2.5)});
  EXPECT_THAT(fired(trigger, 10), ElementsAre(0, 3, 6, 9));
}

TEST(TriggerTest, ByShiftIsQuietWhileNothingShifts) {
  Trigger trigger({.by = "shift"});
  CounterRng rng({2});
  for (std::uint64_t i = 0; i < 500; ++i) {
    Window window = window_at(i, 50 + rng.below(2));
    window.stall_seconds = 0.5 + 0.02 * rng.unit();
    window.fresh = 30 + rng.below(2);
    EXPECT_FALSE(trigger.fires(window, TimePoint())) << i;
  }
}

TEST(TriggerTest, ByShiftFiresInTheWindowOfAnInjectedShiftAndOnlyOnce) {
  for (const int figure : {0, 1, 2}) {
    for (const bool up : {false, true}) {
      Trigger trigger({.by = "shift"});
      std::vector<std::uint64_t> fires;
      for (std::uint64_t i = 0; i < 200; ++i) {
        const double value = (i >= 120) == up ? 0.7 : 0.3;
        Window window = window_at(i);
        window.counts.hits = figure == 0 ? static_cast<std::uint64_t>(100 * value) : 50;
        window.stall_seconds = figure == 1 ? 10 * value : 0.5;
        window.fresh = figure == 2 ? static_cast<std::uint64_t>(100 * value) : 50;
        if (trigger.fires(window, TimePoint())) {
          fires.push_back(i);
        }
      }
      EXPECT_THAT(fires, ElementsAre(120)) << "figure " << figure << (up ? " up" : " down");
    }
  }
}

TEST(TriggerTest, TellsOneShiftOfSeveralFiguresOnce) {
  Trigger trigger({.by = "shift"});
  std::vector<std::uint64_t> fires;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Window window = window_at(i, i < 50 ? 80 : 20);
    window.stall_seconds = i < 50 ? 0.2 : 0.9;  // alone it would need two windows
    window.fresh = i < 50 ? 20 : 80;
    if (trigger.fires(window, TimePoint())) {
      fires.push_back(i);
    }
  }
  EXPECT_THAT(fires, ElementsAre(50));
}

std::string trigger_refusal(const TriggerOptions& options) {
  const Status status = check(options);
  return status.ok() ? "" : status.error().message;
}

TEST(TriggerTest, OptionsOutOfRangeAreNamed) {
  EXPECT_EQ(trigger_refusal({}), "");
  EXPECT_THAT(trigger_refusal({.by = "window"}),
              HasSubstr("unknown kind 'window' (did you mean 'windows'?)"));
  EXPECT_THAT(trigger_refusal({.by = "\x1b[2Jxyz"}), HasSubstr("unknown kind ' [2Jxyz'"));
  EXPECT_THAT(trigger_refusal({.every = 0}), HasSubstr("every 0"));
  EXPECT_THAT(trigger_refusal({.period = Duration::zero()}), HasSubstr("period 0"));
  EXPECT_THAT(trigger_refusal({.slack = -1}), HasSubstr("slack -1"));
  EXPECT_THAT(trigger_refusal({.threshold = 0}), HasSubstr("threshold 0"));
  EXPECT_THAT(trigger_refusal({.threshold = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("threshold nan"));
}

}  // namespace
}  // namespace rudder::steer
