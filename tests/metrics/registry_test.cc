// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/registry.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/clock.h"

namespace rudder::metrics {
namespace {

TEST(Registry, WritesThePageWordForWord) {
  Registry registry;
  registry.counter("b_rows_total", "Rows", {{"rank", "0"}}).add(3);
  registry.counter("b_rows_total", "ignored", {{"rank", "1"}, {"policy", "lru"}}).add();
  registry.seconds("c_seconds_total", "Time").add(0.25);
  registry.gauge("a_loss", "Loss").set(-1.5);
  constexpr std::array<double, 2> kBounds = {0.5, 2};
  Histogram& histogram = registry.histogram("d_seconds", "Latency", kBounds, {{"peer", "2"}});
  for (const double value : {0.25, 0.5, 1.0, 7.25}) {
    histogram.observe(value);
  }
  EXPECT_EQ(registry.text(),
            "# HELP a_loss Loss\n# TYPE a_loss gauge\na_loss -1.5\n"
            "# HELP b_rows_total Rows\n# TYPE b_rows_total counter\n"
            "b_rows_total{rank=\"0\"} 3\nb_rows_total{rank=\"1\",policy=\"lru\"} 1\n"
            "# HELP c_seconds_total Time\n# TYPE c_seconds_total counter\nc_seconds_total 0.25\n"
            "# HELP d_seconds Latency\n# TYPE d_seconds histogram\n"
            "d_seconds_bucket{peer=\"2\",le=\"0.5\"} 2\nd_seconds_bucket{peer=\"2\",le=\"2\"} 3\n"
            "d_seconds_bucket{peer=\"2\",le=\"+Inf\"} 4\n"
            "d_seconds_sum{peer=\"2\"} 9\nd_seconds_count{peer=\"2\"} 4\n");
}

TEST(Registry, AStopwatchGrowsWhileItRunsAndOnlyThen) {
  Registry registry;
  Stopwatch& watch = registry.stopwatch("x_seconds_total", "X");
  EXPECT_EQ(registry.text(), "# HELP x_seconds_total X\n# TYPE x_seconds_total counter\nx_seconds_total 0\n");
  watch.stop();
  EXPECT_EQ(watch.value(), 0);
  double before = 0;
  for (int lap = 0; lap < 3; ++lap) {
    const TimePoint begin = steady_clock().now();
    watch.start();
    const TimePoint begun = steady_clock().now();
    while (watch.value() <= before) {
    }
    watch.start();  // runs already
    const TimePoint end = steady_clock().now();
    watch.stop();
    const TimePoint ended = steady_clock().now();
    const double stopped = watch.value();
    EXPECT_GE(stopped, before + to_seconds(end - begun) - 1e-9);
    EXPECT_LE(stopped, before + to_seconds(ended - begin) + 1e-9);
    EXPECT_EQ(watch.value(), stopped);
    before = stopped;
  }
}

TEST(Registry, WithoutFiguresThePageIsEmpty) {
  EXPECT_EQ(Registry().text(), "");
}

TEST(Registry, GivesTheSameFigureForTheSameNameAndLabels) {
  Registry registry;
  Counter& first = registry.counter("x_total", "X", {{"a", "1"}});
  EXPECT_EQ(&registry.counter("x_total", "X", {{"a", "1"}}), &first);
  EXPECT_NE(&registry.counter("x_total", "X", {{"a", "2"}}), &first);
  EXPECT_NE(&registry.counter("x_total", "X"), &first);
}

std::string labelled(const std::string& value) {
  Registry registry;
  registry.gauge("x", "X", {{"host", value}}).set(1);
  const std::string text = registry.text();
  return text.substr(text.rfind("x{") + 2, text.rfind('}') - text.rfind("x{") - 2);
}

TEST(Registry, EscapesLabelsAndKeepsThemUtf8) {
  EXPECT_EQ(labelled("a\"b\\c\nd"), "host=\"a\\\"b\\\\c\\nd\"");
  EXPECT_EQ(labelled("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "host=\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  // Bare continuation, overlong, surrogate, beyond Unicode, cut short.
  for (const char* bad :
       {"\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f"}) {
    EXPECT_EQ(labelled(bad).find_first_not_of("host=\"?"), std::string::npos) << bad;
  }
}

TEST(Registry, EscapesHelp) {
  Registry registry;
  registry.gauge("x", "one\\two\nthree \"four\"");
  EXPECT_EQ(registry.text(), "# HELP x one\\\\two\\nthree \"four\"\n# TYPE x gauge\nx 0\n");
}

TEST(Registry, WritesNumbersThatReadBackTheSame) {
  const auto written = [](double value) {
    Registry registry;
    registry.gauge("x", "X").set(value);
    const std::string text = registry.text();
    return text.substr(text.rfind(' ') + 1, text.size() - text.rfind(' ') - 2);
  };
  for (const double value : {0.1, 1.0 / 3.0, 1e-300, 1.7976931348623157e308, 123456789.123456789}) {
    EXPECT_EQ(std::stod(written(value)), value);
  }
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(written(std::nan("")), "NaN");
  EXPECT_EQ(written(3), "3");
}

TEST(Registry, CountsWhatManyThreadsAddWhileThePageIsRead) {
  Registry registry;
  Counter& counter = registry.counter("n_total", "N");
  TimeCounter& time = registry.seconds("n_seconds_total", "N");
  Histogram& histogram = registry.histogram("n_seconds", "N", latency_bounds());
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          counter.add(2);
          time.add(0.5);
          histogram.observe(i % 2 == 0 ? 0.001 : 100);
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        static_cast<void>(registry.text());
        registry.gauge("late", "Registered meanwhile", {{"i", std::to_string(i)}});
      }
    });
  }
  EXPECT_EQ(counter.value(), 2U * kThreads * kRounds);
  EXPECT_EQ(time.value(), 0.5 * kThreads * kRounds);
  EXPECT_EQ(histogram.count(latency_bounds().size()), kThreads * kRounds / 2U);
  EXPECT_NE(registry.text().find("n_seconds_bucket{le=\"+Inf\"} 20000\n"), std::string::npos);
  EXPECT_NE(registry.text().find("n_seconds_count 20000\n"), std::string::npos);
}

TEST(RegistryDeathTest, BrokenNamesAreProgrammersErrors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Registry registry;
  registry.gauge("x", "X");
  EXPECT_DEATH(registry.counter("rows", "R"), "ends in _total");
  EXPECT_DEATH(registry.gauge("1x", "X"), "Prometheus's form");
  EXPECT_DEATH(registry.gauge("y", "Y", {{"le", "1"}}), "not le");
  EXPECT_DEATH(registry.histogram("x", "X", latency_bounds()), "one kind");
}

}  // namespace
}  // namespace rudder::metrics
