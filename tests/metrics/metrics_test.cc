// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/metrics/json_lines.h"
#include "rudder/metrics/step_times.h"

namespace rudder::metrics {
namespace {

TEST(JsonLines, KeepsFinishedLinesAcrossOpenings) {
  auto directory = TemporaryDirectory::create("metrics-test");
  ASSERT_TRUE(directory.ok());
  const auto path = directory->path() / "metrics.jsonl";
  {
    auto lines = JsonLines::open(path, true);
    ASSERT_TRUE(lines.ok());
    ASSERT_TRUE(lines->write("{\"a\":1}").ok());
    EXPECT_EQ(read_text(path).value(), "{\"a\":1}\n");  // readable before the file is closed
  }
  auto lines = JsonLines::open(path, true);
  ASSERT_TRUE(lines.ok());
  ASSERT_TRUE(lines->write("{}").ok());
  EXPECT_EQ(read_text(path).value(), "{\"a\":1}\n{}\n");
  ASSERT_TRUE(JsonLines::open(path, false)->write("{\"b\":2}").ok());
  EXPECT_EQ(read_text(path).value(), "{\"b\":2}\n");
  EXPECT_FALSE(JsonLines::open(directory->path() / "absent" / "file", true).ok());
}

TEST(StepTimes, AddUp) {
  StepTimes sum{.compute = 1, .all_reduce = 2, .stall = 3};
  sum += StepTimes{.compute = 0.5, .all_reduce = 0.25, .stall = 0.25};
  EXPECT_DOUBLE_EQ(sum.total(), 7);
}

}  // namespace
}  // namespace rudder::metrics
