// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/companion.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

namespace rudder::launch {
namespace {

using ::testing::HasSubstr;

Command helper(std::vector<std::string> arguments) {
  Command command;
  command.name = "helper";
  command.arguments = std::move(arguments);
  return command;
}

Command shell(std::string script) {
  return helper({"sh", "-c", std::move(script)});
}

bool is_ready(std::string_view line) {
  return line.starts_with("ready");
}

TEST(Companion, LivesUntilItIsDestroyed) {
  auto directory = TemporaryDirectory::create("companion-test");
  ASSERT_TRUE(directory.ok());
  const auto ended = directory->path() / "ended";
  auto companion =
      Companion::start(shell("trap 'touch " + ended.string() +
                             "; exit' TERM; echo ready with it >&2; while :; do sleep 0.01; done"),
                       is_ready, from_seconds(60));
  ASSERT_TRUE(companion.ok()) << companion.error().message;
  EXPECT_TRUE((*companion)->running());
  EXPECT_FALSE(std::filesystem::exists(ended));
  companion->reset();
  EXPECT_TRUE(std::filesystem::exists(ended));
}

TEST(Companion, SaysWhyItEndedBeforeItWasReady) {
  const auto companion =
      Companion::start(shell("echo no model here >&2; exit 3"), is_ready, from_seconds(60));
  ASSERT_FALSE(companion.ok());
  EXPECT_THAT(companion.error().message, HasSubstr("no model here"));
  EXPECT_THAT(companion.error().message, HasSubstr("code 3"));
}

TEST(Companion, IsNotWaitedForForEver) {
  const auto companion =
      Companion::start(shell("echo soon >&2; exec sleep 100"), is_ready, from_seconds(0.2));
  ASSERT_FALSE(companion.ok());
  EXPECT_THAT(companion.error().message, HasSubstr("soon"));
}

TEST(Companion, OneThatCannotRunIsAnError) {
  const auto companion = Companion::start(helper({"no-such-program-here"}), is_ready, from_seconds(60));
  ASSERT_FALSE(companion.ok());
  EXPECT_THAT(companion.error().message, HasSubstr("no-such-program-here"));
}

}  // namespace
}  // namespace rudder::launch
