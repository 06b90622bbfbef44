// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/host_load.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/clock.h"

namespace rudder::steer {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;

class ProcessorLoadTest : public ::testing::Test {
 protected:
  ProcessorLoadTest()
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("stat_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {}
  ~ProcessorLoadTest() override { std::filesystem::remove(path_); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }

  std::filesystem::path path_;
};

TEST_F(ProcessorLoadTest, IsTheShareOfTicksThatWereNotIdleSinceTheCallBefore) {
  write("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n");
  const auto load = processor_load(path_);
  ASSERT_TRUE(load.ok()) << load.error().message;
  EXPECT_FALSE((*load)->device());
  write("cpu  150 10 120 760 120 20 10 10 90 0\ncpu0 1 2 3 4\n");  // 200 ticks, 80 of them idle or waiting
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(0.6, 1e-12)));
  EXPECT_EQ((*load)->busy(), std::nullopt);  // no tick since
  write("cpu  150 10 120 860 120 20 10 10 90 0\n");
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(0, 1e-12)));
}

TEST_F(ProcessorLoadTest, ReadsOlderKernelsAndClocksThatGoBack) {
  write("cpu  10 0 10 100\n");
  const auto load = processor_load(path_);
  ASSERT_TRUE(load.ok()) << load.error().message;
  write("cpu  110 0 10 90\n");  // less idle time than before
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(1, 1e-12)));
  write("garbage");
  EXPECT_EQ((*load)->busy(), std::nullopt);
  write("");
  EXPECT_EQ((*load)->busy(), std::nullopt);
}

TEST_F(ProcessorLoadTest, RefusesWhatIsNoSuchFile) {
  EXPECT_THAT(processor_load("/nowhere/stat").error().message, HasSubstr("/nowhere/stat: No such file"));
  for (const char* const text : {"", "cpu", "cpu  1 2 3", "cpu0 1 2 3 4", "cpu  a b c d", "cpu  -1 2 3 4"}) {
    write(text);
    const auto load = processor_load(path_);
    ASSERT_FALSE(load.ok()) << text;
    EXPECT_THAT(load.error().message, HasSubstr("no line of processor times")) << text;
  }
}

TEST_F(ProcessorLoadTest, OfThisMachineIsAShare) {
  const auto load = processor_load();
  ASSERT_TRUE(load.ok()) << load.error().message;
  std::optional<double> busy;
  for (const TimePoint end = steady_clock().now() + from_seconds(10); !busy && steady_clock().now() < end;) {
    busy = (*load)->busy();
  }
  ASSERT_TRUE(busy.has_value());
  EXPECT_GE(*busy, 0);
  EXPECT_LE(*busy, 1);
}

TEST(DeviceLoadTest, AsksTheDriversLibrary) {
  const auto load = device_load(0, RUDDER_TEST_FAKE_NVML);
  ASSERT_TRUE(load.ok()) << load.error().message;
  EXPECT_TRUE((*load)->device());
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(0.07, 1e-12)));
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(0.14, 1e-12)));
  EXPECT_EQ((*load)->busy(), std::nullopt);  // the device fell off the bus
  EXPECT_THAT((*load)->busy(), Optional(DoubleNear(0.28, 1e-12)));
}

TEST(DeviceLoadTest, SaysWhatIsMissing) {
  const auto no_device = device_load(3, RUDDER_TEST_FAKE_NVML);
  ASSERT_FALSE(no_device.ok());
  EXPECT_EQ(no_device.error().code, Errc::kNotFound);
  EXPECT_THAT(no_device.error().message, HasSubstr("device 3: Not Found"));
  const auto no_library = device_load(0, "libnothing-of-the-sort.so");
  ASSERT_FALSE(no_library.ok());
  EXPECT_EQ(no_library.error().code, Errc::kNotFound);
  EXPECT_THAT(no_library.error().message, HasSubstr("libnothing-of-the-sort.so"));
  const auto other_library = device_load(0, "libm.so.6");
  ASSERT_FALSE(other_library.ok());
  EXPECT_THAT(other_library.error().message, HasSubstr("libm.so.6: not NVML"));
}

}  // namespace
}  // namespace rudder::steer
