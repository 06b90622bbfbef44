// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher_link.h"

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rudder::launch {
namespace {

using ::testing::HasSubstr;

/// A link and the launcher's ends of it.
struct Ends {
  Ends() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    orders = Fd(in[1]);
    answers = Fd(out[0]);
    link.emplace(Fd(in[0]), Fd(out[1]));
    ::signal(SIGPIPE, SIG_IGN);
  }
  void say(const std::string& text) const {
    EXPECT_EQ(::write(orders.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string hear() const {
    std::array<char, 4096> text;
    const ssize_t n = ::read(answers.get(), text.data(), text.size());
    return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : std::string();
  }

  Fd orders, answers;
  std::optional<LauncherLink> link;
};

TEST(LauncherLink, CarriesLinesBothWays) {
  Ends ends;
  ends.say("hello\nalive\nstart");
  EXPECT_EQ(ends.link->wait_line().value(), "hello");
  ends.link->turn();
  EXPECT_FALSE(ends.link->take_line().has_value());  // half a line is none, and a sign of life neither
  ends.say(" now\n");
  EXPECT_EQ(ends.link->wait_line().value(), "start now");
  ends.link->send("ready");
  EXPECT_EQ(ends.hear(), "ready\n");
}

TEST(LauncherLink, TheEndOfItsInputIsALostLauncher) {
  Ends ends;
  ends.say("last\n");
  ends.orders.reset();
  EXPECT_EQ(ends.link->wait_line().value(), "last");
  EXPECT_EQ(ends.link->wait_line().error().message, "the launcher is gone");
  EXPECT_EQ(ends.link->descriptor(), -1);
}

TEST(LauncherLink, SilenceIsALostLauncherAndSignsOfLifeAreNone) {
  Ends ends;
  ends.link->set_silence(from_seconds(0.3));
  const TimePoint began = steady_clock().now();
  std::jthread launcher([&] {
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ends.say("alive\n");
    }
  });
  const auto line = ends.link->wait_line();
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().message, "nothing was heard of the launcher for 0.3 s");
  EXPECT_GT(steady_clock().now() - began, from_seconds(0.7));
  EXPECT_THAT(ends.hear(), HasSubstr("alive\nalive\n"));  // it showed signs of its own
}

TEST(LauncherLink, ALauncherThatTakesNothingAndSaysNothingIsLost) {
  Ends ends;
  ends.link->set_silence(from_seconds(0.2));
  const std::string line(1 << 16, 'x');
  for (int i = 0; i < 4; ++i) {
    ends.link->send(line);  // more than the pipe holds
  }
  EXPECT_THAT(ends.link->lost(), HasSubstr("nothing was heard"));
}

TEST(LauncherLink, ALauncherThatIsSlowToReadIsWaitedFor) {
  Ends ends;
  ends.link->set_silence(from_seconds(0.4));
  constexpr std::size_t kLines = 8;
  const std::string line(1 << 16, 'x');
  std::size_t heard = 0;
  std::jthread launcher([&] {
    for (int i = 0; i < 12; ++i) {  // in all longer than the silence that is allowed
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ends.say("alive\n");
    }
    while (heard < kLines * (line.size() + 1)) {
      heard += ends.hear().size();
    }
  });
  for (std::size_t i = 0; i < kLines; ++i) {
    ends.link->send(line);
  }
  launcher.join();
  EXPECT_EQ(ends.link->lost(), "");
  EXPECT_EQ(heard, kLines * (line.size() + 1));
}

TEST(LauncherLink, ALauncherThatReadsNoMoreIsLost) {
  Ends ends;
  ends.answers.reset();
  ends.link->send("ready");
  EXPECT_THAT(ends.link->lost(), HasSubstr("the launcher is gone"));
}

}  // namespace
}  // namespace rudder::launch
