// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/page.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::metrics {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto page = Page::parse(text);
  return page.ok() ? "taken" : page.error().message;
}

TEST(Page, ReadsBackWhatARegistryWrites) {
  Registry registry;
  registry.counter("b_rows_total", "Rows", {{"rank", "0"}}).add(3);
  registry.counter("b_rows_total", "Rows", {{"rank", "1"}, {"policy", "lru"}}).add(4);
  registry.seconds("c_seconds_total", "Time\nof \\ two lines").add(0.25);
  registry.gauge("a_loss", "Loss").set(-1.5);
  registry.gauge("a_host", "Host", {{"host", "a\"b\\c\nd\xc3\xa9"}}).set(1e300);
  constexpr std::array<double, 2> kBounds = {0.5, 2};
  Histogram& histogram = registry.histogram("d_seconds", "Latency", kBounds, {{"peer", "2"}});
  histogram.observe(0.25);
  histogram.observe(7);
  const auto page = Page::parse(registry.text());
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->samples().size(), 10U);
  EXPECT_EQ(page->sum("b_rows_total"), 7);
  EXPECT_EQ(page->sum("b_rows_total", {{"policy", "lru"}}), 4);
  EXPECT_EQ(page->sum("b_rows_total", {{"policy", "vip"}}), 0);
  EXPECT_EQ(page->sum("c_seconds_total"), 0.25);
  EXPECT_EQ(page->sum("a_loss"), -1.5);
  EXPECT_EQ(page->sum("absent"), 0);
  ASSERT_EQ(page->of("a_host").size(), 1U);
  EXPECT_EQ(page->of("a_host")[0].label("host"), "a\"b\\c\nd\xc3\xa9");
  EXPECT_EQ(page->of("a_host")[0].label("rank"), "");
  EXPECT_EQ(page->of("a_host")[0].value, 1e300);
  EXPECT_EQ(page->of("d_seconds_bucket").size(), 3U);
  EXPECT_EQ(page->sum("d_seconds_bucket", {{"peer", "2"}, {"le", "+Inf"}}), 2);
  EXPECT_EQ(page->sum("d_seconds_sum"), 7.25);
}

TEST(Page, ReadsBackWhatIsNoNumber) {
  Registry registry;
  registry.gauge("a", "A").set(std::numeric_limits<double>::quiet_NaN());
  registry.gauge("b", "B").set(std::numeric_limits<double>::infinity());
  registry.gauge("c", "C").set(-std::numeric_limits<double>::infinity());
  const auto page = Page::parse(registry.text());
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(std::isnan(page->sum("a")));
  EXPECT_EQ(page->sum("b"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(page->sum("c"), -std::numeric_limits<double>::infinity());
}

TEST(Page, WithoutFiguresItIsEmpty) {
  EXPECT_TRUE(Page::parse("")->samples().empty());
  EXPECT_TRUE(Page::parse("# a remark\n")->samples().empty());
}

TEST(Page, WhatIsNotOfTheFormatIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("a 1\nb 2"), "line 2 of figures is cut short");
  for (const std::string line : {"",
                                 " ",
                                 "a",
                                 "a ",
                                 "1a 1",
                                 "a  1",
                                 "a 1 ",
                                 "a 1 1700000000",
                                 "a 0x1",
                                 "a 1e999",
                                 "a nan",
                                 "a +1",
                                 "a{} 1",
                                 "a{b} 1",
                                 "a{b=1} 1",
                                 "a{b=\"1} 1",
                                 "a{b=\"1\",} 1",
                                 "a{b=\"1\"",
                                 "a{b=\"1\"}1",
                                 "a{b=\"\\t\"} 1",
                                 "a{b=\"1\",b=\"2\"} 1",
                                 "a{=\"1\"} 1",
                                 "\xff 1"}) {
    EXPECT_EQ(refusal("# fine\n" + line + "\n"), "line 2 of figures is malformed") << line;
  }
}

TEST(Page, ASeriesThatComesTwiceIsRefused) {
  EXPECT_THAT(refusal("a{b=\"1\"} 1\nc 3\na{b=\"1\"} 2\n"), HasSubstr("figure a comes twice"));
  EXPECT_EQ(refusal("a{b=\"1\"} 1\na{b=\"2\"} 1\na 1\n"), "taken");
}

TEST(Page, NoBytesAreTooMuch) {
  Registry registry;
  registry.counter("x_total", "X", {{"rank", "0"}, {"policy", "a\\\"b"}}).add(12);
  const std::string whole = registry.text();
  CounterRng rng({3});
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole.substr(0, rng.below(whole.size() + 1));
    for (std::uint64_t changes = rng.below(4); changes > 0 && !text.empty(); --changes) {
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    }
    if (const auto page = Page::parse(text); page.ok()) {
      EXPECT_LE(page->samples().size(), text.size() / 4);  // "a 1\n"
    }
  }
}

}  // namespace
}  // namespace rudder::metrics
