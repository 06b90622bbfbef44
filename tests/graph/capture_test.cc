// SPDX-License-Identifier: Apache-2.0
#include "graph/capture.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::graph {
namespace {

using testing::HasSubstr;

TEST(Capture, ReturnsStandardOutputWhole) {
  const auto text = capture_output({"seq", "1", "100000"}, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->size(), 588895U);
  EXPECT_TRUE(text->starts_with("1\n2\n"));
  EXPECT_TRUE(text->ends_with("\n100000\n"));
}

TEST(Capture, RunsInTheCLocaleWithoutInput) {
  const auto text = capture_output({"sh", "-c", "cat; echo $LC_ALL"}, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text.value(), "C\n");
}

TEST(Capture, NamesAMissingProgram) {
  const auto text = capture_output({"no-such-program-here"}, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Errc::kNotFound);
  EXPECT_THAT(text.error().message, HasSubstr("no-such-program-here"));
}

TEST(Capture, ReportsExitStatusAndSignal) {
  const auto status = capture_output({"sh", "-c", "exit 7"}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("status 7"));
  const auto signal = capture_output({"sh", "-c", "kill -9 $$"}, {});
  ASSERT_FALSE(signal.ok());
  EXPECT_THAT(signal.error().message, HasSubstr("signal 9"));
}

TEST(Capture, RefusesMoreOutputThanTheLimit) {
  CaptureLimits limits;
  limits.bytes = 1000;
  const auto text = capture_output({"seq", "1", "1000"}, limits);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("more than 1000 bytes"));
}

TEST(Capture, EndsAProgramThatHangsWithOpenOrClosedOutput) {
  CaptureLimits limits;
  limits.time = std::chrono::milliseconds(50);
  for (const char* script : {"exec sleep 100", "exec >&-; exec sleep 100"}) {
    const auto start = steady_clock().now();
    const auto text = capture_output({"sh", "-c", script}, limits);
    ASSERT_FALSE(text.ok()) << script;
    EXPECT_EQ(text.error().code, Errc::kTimeout) << script;
    EXPECT_THAT(text.error().message, HasSubstr(script));
    EXPECT_LT(to_seconds(steady_clock().now() - start), 50.0) << script;
  }
}

}  // namespace
}  // namespace rudder::graph
