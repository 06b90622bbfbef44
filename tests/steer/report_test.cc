// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/core/text.h"
#include "rudder/steer/window.h"

#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::random_bytes;
using testing_support::window_at;

std::string random_line(CounterRng& rng) {
  return one_line(random_bytes(rng, 60), kMaxReportLine);
}

Report random_report(CounterRng& rng) {
  Report report;
  report.sequence = rng() >> rng.below(64);
  report.action = random_line(rng);
  for (std::size_t m = 0; m < kMetrics; ++m) {
    report.levels[m] = static_cast<Level>(rng.below(3));
    report.changed[m] = rng.below(2) == 0;
  }
  report.busiest_owner = rng.below(2) == 0 ? "" : random_line(rng);
  for (std::uint64_t i = rng.below(kMaxEvents + 1); i > 0; --i) {
    report.events.push_back(random_line(rng));
  }
  return report;
}

Report example() {
  Report report;
  report.sequence = 12;
  report.action = "skip";
  report.changed[kHitRate] = report.changed[kStallShare] = true;
  report.levels[kStallShare] = Level::kHigh;
  report.busiest_owner = "owner 2 serves 71 % of the rows";
  report.events = {"another job starts on this rack at noon"};
  return report;
}

TEST(ReportText, SaysWhatChangedInWords) {
  EXPECT_EQ(text_of(example()),
            "window 12, action skip\n"
            "changed: hit_rate low, stall_share high\n"
            "owners: owner 2 serves 71 % of the rows\n"
            "event: another job starts on this rack at noon");
  Report quiet;
  quiet.action = "replace";
  EXPECT_EQ(text_of(quiet), "window 0, action replace\nchanged: nothing");
}

TEST(ReportText, WithTheReportBeforeRebuildsTheWhole) {
  CounterRng rng({1});
  Report before = random_report(rng);
  for (int i = 0; i < 3000; ++i) {
    Report now = random_report(rng);
    for (std::size_t m = 0; m < kMetrics; ++m) {
      if (!now.changed[m]) {
        now.levels[m] = before.levels[m];
      }
    }
    const Result<Report> read = report_of_text(text_of(now), before);
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text_of(now);
    ASSERT_EQ(*read, now) << text_of(now);
    before = now;
  }
}

/// A chain of reports of real windows: only the texts and the first report's text are kept.
TEST(ReportText, DeltasOfAWholeRunRebuildEveryReport) {
  CounterRng rng({2});
  Levels levels;
  Report rebuilt;
  LevelVector before{};
  std::size_t said = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    Window window = window_at(i, rng.below(101));
    window.stall_seconds = 4 * rng.unit();
    window.owners = 4;
    for (std::size_t owner = 0; owner < 4; ++owner) {
      window.owner[owner] = {rng.below(1000), rng.unit(), rng.below(3)};
    }
    const LevelVector now = levels.update(features_of(window));
    const std::vector<std::string> events(rng.below(3), "note");
    const Report whole = report_of(window, "skip", now, i == 0 ? nullptr : &before, events);
    const Result<Report> read = report_of_text(text_of(whole), rebuilt);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(*read, whole);
    rebuilt = *read;
    before = now;
    for (std::size_t m = 0; m < kMetrics; ++m) {
      said += whole.changed[m] ? 1U : 0U;
    }
  }
  EXPECT_LT(said, 400U * 5);  // seven of twelve metrics never moved
}

TEST(ReportText, IsBoundedWhateverAReportHolds) {
  Report report;
  report.sequence = ~std::uint64_t{0};
  report.action = std::string(100'000, 'x');
  report.changed.fill(true);
  report.busiest_owner = std::string(100'000, '\n');
  report.events.assign(1000, std::string(100'000, '\xff'));
  EXPECT_LT(text_of(report).size(), 3000U);
  EXPECT_LT(json_of(report).size(), 3500U);
  EXPECT_TRUE(report_of_text(text_of(report), Report{}).ok());
  EXPECT_TRUE(report_of_json(json_of(report)).ok());
}

TEST(ReportText, OfHostileStringsStillReadsBack) {
  Report report = example();
  report.action = "skip\nchanged: hit_rate high\x1b[31m";
  report.events = {"a\nevent: b\n\nwindow 3", "\xc3\x28 broken"};
  const Result<Report> read = report_of_text(text_of(report), Report{});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->action, "skip changed: hit_rate high [31m");
  EXPECT_THAT(read->events, ElementsAre("a event: b  window 3", "\xEF\xBF\xBD( broken"));
  EXPECT_EQ(*read, *report_of_json(json_of(report)));
}

std::string text_refusal(std::string_view text) {
  const Result<Report> report = report_of_text(text, Report{});
  return report.ok() ? "" : report.error().message;
}

TEST(ReportText, HostileOnesAreRefusedWithTheirPlace) {
  EXPECT_THAT(text_refusal(""), HasSubstr("line 1"));
  EXPECT_THAT(text_refusal("window x, action skip\nchanged: nothing"),
              HasSubstr("window 'x' is not a number"));
  EXPECT_THAT(text_refusal("window -1, action skip\nchanged: nothing"), HasSubstr("'-1' is not a number"));
  EXPECT_THAT(text_refusal("window 18446744073709551616, action a\nchanged: nothing"), HasSubstr("number"));
  EXPECT_THAT(text_refusal("window 01, action skip\nchanged: nothing"), HasSubstr("not written as"));
  EXPECT_THAT(text_refusal("window 1 action skip\nchanged: nothing"), HasSubstr("line 1"));
  EXPECT_THAT(text_refusal("window 1, action skip"), HasSubstr("line 2: no 'changed: ...'"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: "), HasSubstr("line 2: nothing is said"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: luck high"), HasSubstr("'luck high'"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: hit_rate huge"), HasSubstr("'hit_rate huge'"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: hit_rate"), HasSubstr("'hit_rate'"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: hit_rate low, hit_rate high"),
              HasSubstr("hit_rate comes twice"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: hit_rate low, "), HasSubstr("not written as"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: nothing\n"), HasSubstr("not written as"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: nothing\nhello"), HasSubstr("line 3: neither"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: nothing\nevent: a\nowners: b"),
              HasSubstr("line 4: neither"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: nothing\nevent: \x1b[2J"),
              HasSubstr("line 3: no short line"));
  EXPECT_THAT(text_refusal("window 1, action skip\nchanged: nothing\nevent: " + std::string(201, 'x')),
              HasSubstr("line 3: no short line"));
  std::string many = "window 1, action skip\nchanged: nothing";
  for (int i = 0; i < 9; ++i) {
    many += "\nevent: x";
  }
  EXPECT_THAT(text_refusal(many), HasSubstr("more than 8 events"));
  EXPECT_THAT(text_refusal(std::string(1 << 20, '\n')), HasSubstr("bytes, more than"));
}

/// Mutated texts are either refused or read as a report that is written as that very text.
TEST(ReportText, MutatedOnesAreRefusedOrExact) {
  CounterRng rng({3});
  for (int i = 0; i < 5000; ++i) {
    std::string text = text_of(random_report(rng));
    for (std::uint64_t edits = 1 + rng.below(3); edits > 0; --edits) {
      const std::size_t place = rng.below(text.size());
      if (rng.below(2) == 0) {
        text[place] = static_cast<char>(rng.below(256));
      } else {
        text.erase(place, 1 + rng.below(5));
      }
      text += text.empty() ? "x" : "";
    }
    if (const Result<Report> read = report_of_text(text, Report{}); read.ok()) {
      EXPECT_EQ(text_of(*read), text);
    } else {
      EXPECT_THAT(read.error().message, HasSubstr("report"));
      EXPECT_EQ(one_line(read.error().message, 1000), read.error().message);
    }
  }
}

TEST(ReportJson, RoundTrips) {
  CounterRng rng({4});
  for (int i = 0; i < 3000; ++i) {
    const Report report = random_report(rng);
    const std::string json = json_of(report);
    EXPECT_EQ(json.find('\n'), std::string::npos);
    const Result<Report> read = report_of_json(json);
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << json;
    ASSERT_EQ(*read, report) << json;
  }
}

TEST(ReportJson, CarriesTheSameAsTheText) {
  CounterRng rng({5});
  for (int i = 0; i < 500; ++i) {
    const Report report = random_report(rng);
    const Result<Report> by_json = report_of_json(json_of(report));
    const Result<Report> by_text = report_of_text(text_of(report), report);
    ASSERT_TRUE(by_json.ok() && by_text.ok());
    EXPECT_EQ(*by_json, *by_text);
  }
}

std::string json_refusal(std::string_view json) {
  const Result<Report> report = report_of_json(json);
  return report.ok() ? "" : report.error().message;
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string json = json_of(example());
  const std::size_t place = json.find(from);
  EXPECT_NE(place, std::string::npos) << from << " in " << json;
  return json.replace(place, from.size(), to);
}

TEST(ReportJson, HostileOnesAreRefusedWithTheirMember) {
  EXPECT_THAT(json_refusal(""), HasSubstr("no JSON object"));
  EXPECT_THAT(json_refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(json_refusal(std::string(10'000, '[')), HasSubstr("no JSON object"));
  EXPECT_THAT(json_refusal(std::string(100'000, '[')), HasSubstr("100000 bytes"));
  EXPECT_THAT(json_refusal("{}"), HasSubstr("sequence is missing"));
  EXPECT_THAT(json_refusal(replaced("\"sequence\":12", "\"sequence\":-1")), HasSubstr("sequence"));
  EXPECT_THAT(json_refusal(replaced("\"sequence\":12", "\"sequence\":1e99")), HasSubstr("sequence"));
  EXPECT_THAT(json_refusal(replaced("\"sequence\":12", "\"sequence\":12,\"sequence\":13")),
              HasSubstr("key 'sequence' comes twice"));
  EXPECT_THAT(json_refusal(replaced("\"hit_rate\":\"low\"", "\"hit_rate\":\"low\",\"hit_rate\":\"high\"")),
              HasSubstr("key 'hit_rate' comes twice"));
  EXPECT_THAT(json_refusal(replaced("\"sequence\":12", "\"sequence\":12,\"luck\":1")),
              HasSubstr("unknown key 'luck'"));
  EXPECT_THAT(json_refusal(replaced("\"skip\"", "7")), HasSubstr("action is not one line"));
  EXPECT_THAT(json_refusal(replaced("\"skip\"", "\"a\\nb\"")), HasSubstr("action is not one line"));
  EXPECT_THAT(json_refusal(replaced("\"hit_rate\":\"low\"", "\"hit_rate\":\"tiny\"")),
              HasSubstr("levels.hit_rate"));
  EXPECT_THAT(json_refusal(replaced("\"hit_rate\":\"low\"", "\"hit_rote\":\"low\"")),
              HasSubstr("levels.hit_rote"));
  EXPECT_THAT(json_refusal(replaced("\"hit_rate\":\"low\",", "")), HasSubstr("all 12 metrics"));
  EXPECT_THAT(json_refusal(replaced("[\"hit_rate\",", "[\"stall_share\",")), HasSubstr("changed"));
  EXPECT_THAT(json_refusal(replaced("[\"hit_rate\",", "[null,")), HasSubstr("changed"));
  EXPECT_THAT(json_refusal(replaced("\"events\":[", "\"events\":[3,")), HasSubstr("an event"));
  EXPECT_THAT(json_refusal(replaced("\"events\":[", "\"events\":[[],")), HasSubstr("an event"));
  EXPECT_THAT(json_refusal(replaced("\"skip\"", "\"\xff\"")), HasSubstr("no JSON object"));
}

TEST(ReportOfAWindow, NamesWhoStandsOutAndNothingElse) {
  Window window = window_at(7);
  window.owners = 4;
  window.self = 0;
  window.owner[1] = {10, 0.1, 10};
  window.owner[2] = {80, 0.1, 10};
  window.owner[3] = {10, 0.1, 10};
  Levels levels;
  const Report skewed = report_of(window, "skip", levels.update(features_of(window)), nullptr);
  EXPECT_EQ(skewed.busiest_owner, "owner 2 serves 80 % of the rows");
  EXPECT_EQ(skewed.sequence, 7U);
  EXPECT_THAT(skewed.changed, ::testing::Each(true));
  EXPECT_THAT(skewed.events, IsEmpty());

  window.owner[3].seconds = 0.8;
  const LevelVector before = levels.now();
  const Report both = report_of(window, "skip", levels.update(features_of(window)), &before);
  EXPECT_EQ(both.busiest_owner,
            "owner 2 serves 80 % of the rows, owner 3 takes 8.0 times the median answer time");
  EXPECT_EQ(std::count(both.changed.begin(), both.changed.end(), true), 1);
  EXPECT_TRUE(both.changed[kOwnerDelay]);

  window.owner[2] = window.owner[3] = window.owner[1];
  EXPECT_EQ(report_of(window, "skip", levels.update(features_of(window)), nullptr).busiest_owner, "");
}

TEST(ReportOfAWindow, KeepsTheNewestEventsAsCleanLines) {
  std::vector<std::string> events;
  for (int i = 0; i < 12; ++i) {
    events.push_back("event\t" + std::to_string(i));
  }
  const Report report = report_of(window_at(0), "skip", LevelVector{}, nullptr, events);
  ASSERT_EQ(report.events.size(), kMaxEvents);
  EXPECT_EQ(report.events.front(), "event 4");
  EXPECT_EQ(report.events.back(), "event 11");
}

TEST(ReportOfAWindow, IsMadeOfAnyWindow) {
  CounterRng rng({6});
  Levels levels;
  for (int i = 0; i < 2000; ++i) {
    const Window window = testing_support::hostile_window(rng);
    const Report report =
        report_of(window, random_bytes(rng, 300), levels.update(features_of(window)), nullptr);
    const Result<Report> read = report_of_json(json_of(report));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, report);
  }
}

}  // namespace
}  // namespace rudder::steer
