// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/report/demo_report.h"
#include "rudder/report/steer_report.h"
#include "rudder/report/table.h"

namespace rudder::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DemoReport sample_report() {
  DemoReport report;
  report.title = "Demo </script><script>alert(1)</script>";
  report.min_fetched = 50;
  for (const char* policy : {"none", "lookahead"}) {
    DemoRow row;
    row.policy = policy;
    row.epoch_seconds = 2;
    row.compute_seconds = 1;
    row.stall_seconds = 1;
    row.requests = 200;
    row.fetched = 100;
    row.ratio_to_min = 2;
    row.loss_digest = "0123456789abcdef0123";
    row.test_accuracy = 0.75;
    row.step_losses = {2, 1};
    row.step_hit_rates = {0, 0.5};
    report.rows.push_back(row);
  }
  return report;
}

TEST(TextTable, PadsByCodePoints) {
  TextTable table({"name", "n"});
  table.add({"µ", "10"});
  table.add({"long name", "7"});
  EXPECT_EQ(table.text(), "name        n\nµ          10\nlong name   7\n");
}

TEST(DemoTable, SaysWhetherPoliciesAgree) {
  DemoReport report = sample_report();
  EXPECT_THAT(demo_table(report), HasSubstr("All policies trained alike"));
  EXPECT_THAT(demo_table(report), HasSubstr("2.000"));
  report.rows[1].loss_digest = "ffff";
  EXPECT_THAT(demo_table(report), HasSubstr("WRONG"));
}

TEST(DemoTable, SaysWhatWasDecidedAndWhatDidNotRun) {
  DemoReport report = sample_report();
  DemoSteering steering;
  steering.decider = "llm";
  steering.window = 4;
  steering.windows = 12;
  steering.decisions = 9;
  steering.model_calls = 8;
  steering.valid_replies = 6;
  steering.latency_p50 = 0.5;
  report.rows[1].steering = steering;
  report.scenarios.push_back({"shrinking-link", "links shrink", {report.rows[1]}});
  report.skipped = {"score + agent: no model"};
  const std::string table = demo_table(report);
  for (const char* said :
       {"9 decisions in 12 windows of 4 batches", "75.0 % valid replies", "shrinking-link: links shrink",
        "skipped: score + agent: no model", "All policies trained alike"}) {
    EXPECT_THAT(table, HasSubstr(said));
  }
  report.scenarios[0].rows[0].loss_digest = "ffff";
  EXPECT_THAT(demo_table(report), HasSubstr("WRONG"));
}

TEST(DemoHtml, IsSelfContainedAndEscapesText) {
  auto directory = TemporaryDirectory::create("report-test");
  ASSERT_TRUE(directory.ok());
  const auto script = directory->path() / "chart.js";
  const auto page = directory->path() / "report.html";
  ASSERT_TRUE(write_text(script, "/* the chart library */").ok());
  ASSERT_TRUE(write_demo_html(page, sample_report(), script).ok());
  const std::string html = read_text(page).value();
  EXPECT_THAT(html, HasSubstr("/* the chart library */"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, Not(HasSubstr("{{")));
  for (const char* outside : {"http://", "https://", "src=\"", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
}

TEST(DemoHtml, SaysWhichPackageIsMissing) {
  auto directory = TemporaryDirectory::create("report-test");
  ASSERT_TRUE(directory.ok());
  const Status status =
      write_demo_html(directory->path() / "report.html", sample_report(), directory->path() / "none.js");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("libjs-chart.js"));
  EXPECT_TRUE(std::filesystem::is_empty(directory->path()));
}

TEST(SteerHtml, IsSelfContainedAndEscapesText) {
  auto directory = TemporaryDirectory::create("report-test");
  ASSERT_TRUE(directory.ok());
  const auto script = directory->path() / "chart.js";
  const auto page = directory->path() / "steer.html";
  ASSERT_TRUE(write_text(script, "/* the chart library */").ok());
  SteerReport report;
  report.command = "rudder steer eval --decider '</script><script>alert(1)</script>{{style}}'";
  SteerScenario scenario;
  scenario.name = "drift";
  scenario.actions = {"skip", "replace"};
  scenario.phases = {{0, "staying"}};
  scenario.oracle = scenario.best_fixed = {"oracle", {1, 2}, {0, 1}};
  SteerRow row;
  row.decider = "hedge, unguarded";
  row.cost = 3;
  scenario.rows.push_back(row);
  scenario.runs.push_back({"hedge, unguarded", {1, 2}, {0, 1}});
  report.scenarios.push_back(scenario);
  ASSERT_TRUE(write_steer_html(page, report, script).ok());
  const std::string html = read_text(page).value();
  EXPECT_THAT(html, HasSubstr("/* the chart library */"));
  EXPECT_THAT(html, HasSubstr("hedge, unguarded"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, HasSubstr("alert(1)\\u003c/script>{{style}}")) << "what fills a place is a place";
  for (const char* outside : {"http://", "https://", "src=\"", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
}

}  // namespace
}  // namespace rudder::report
