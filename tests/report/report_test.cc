// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/report/demo_report.h"
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

}  // namespace
}  // namespace rudder::report
