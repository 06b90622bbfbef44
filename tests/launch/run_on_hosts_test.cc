// SPDX-License-Identifier: Apache-2.0
// The launcher's side, with scripts in the place of ssh and wardens that say whatever a test wants.
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rudder/launch/run.h"

#include "launch/warden_wire.h"

namespace rudder::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a warden of version 1 says and does up to its ranks' start; $order is what it was told.
constexpr const char* kReady =
    "read -r hello; echo 'rudder-warden "
    "{\"version\":\"1\",\"address\":\"10.0.0.1\",\"loopback\":false,\"port\":29400,\"error\":\"\"}'; "
    "read -r order; ";

/// Rank 1's warden, which answers signs of life and stops when it is told to.
constexpr const char* kObedient =
    "while read -r line; do echo alive; case $line in signal*) echo exit 1 143 15 1; exit;; esac; done";

struct Heard {
  std::vector<std::string> lines;       ///< "RANK HOST out|err TEXT"
  std::vector<std::string> host_lines;  ///< "HOST TEXT"
};

class RunOnHosts : public ::testing::Test {
 protected:
  /// One rank on each host; `script` is a shell's, in which $0 is the host's name and $1 what ssh is to run.
  Result<RunOutcome> run(const std::string& script, std::vector<std::string> names = {"a", "b"}) {
    std::vector<HostEntry> hosts;
    for (std::string& name : names) {
      hosts.push_back({std::move(name), 1, {}});
    }
    RunSpec spec;
    spec.command = {"program"};
    spec.world = static_cast<Rank>(hosts.size());
    spec.grace = from_seconds(0.2);
    RemoteOptions options;
    options.ssh = {"sh", "-c", script};
    options.program = "/opt/my rudder/rudder";
    options.version = "1";
    options.deadline = deadline_;
    const RunListener listener{
        .on_line =
            [this](Rank rank, const std::string& host, Stream stream, std::string_view line) {
              heard_.lines.push_back(std::to_string(rank) + " " + host +
                                     (stream == Stream::kOut ? " out " : " err ") + std::string(line));
              if (on_line_) {
                on_line_(line);
              }
            },
        .on_host_line =
            [this](const std::string& host, std::string_view line) {
              heard_.host_lines.push_back(host + " " + std::string(line));
            }};
    return run_on_hosts(hosts, std::move(spec), options, listener);
  }
  /// Rank 0 is on host a, rank 1 on host b.
  static std::string each(const std::string& a, const std::string& b) {
    return std::string(kReady) + "if [ $0 = a ]; then " + a + "; else " + b + "; fi";
  }

  Duration deadline_ = from_seconds(30);
  std::function<void(std::string_view)> on_line_;
  Heard heard_;
};

TEST_F(RunOnHosts, ARunOfTwoHostsIsHeardToItsEnd) {
  const auto outcome =
      run("echo Welcome to $0; echo news >&2; " +
          each("echo \"out 0 $1\"; echo exit 0 0 0 0", "echo err 1 late; echo exit 1 0 0 0") + "; cat");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->all_succeeded);
  EXPECT_FALSE(outcome->failure.has_value());
  EXPECT_THAT(outcome->lost, IsEmpty());
  EXPECT_THAT(heard_.lines,
              ::testing::UnorderedElementsAre("0 a out exec '/opt/my rudder/rudder' warden", "1 b err late"));
  EXPECT_THAT(heard_.host_lines,
              ::testing::UnorderedElementsAre("a Welcome to a", "a news", "b Welcome to b", "b news"));
}

TEST_F(RunOnHosts, OrdersHoldTheRunAndNoCommandLineHoldsTheSecret) {
  const auto outcome = run(each("echo \"out 0 ${order#start }\"; echo exit 0 0 0 0",
                                "echo \"out 1 $(tr '\\0' ' ' </proc/$$/cmdline)\"; echo exit 1 0 0 0"));
  ASSERT_TRUE(outcome.ok() && outcome->all_succeeded);
  ASSERT_EQ(heard_.lines.size(), 2U);
  std::sort(heard_.lines.begin(), heard_.lines.end());
  const auto start =
      parse_start(std::string_view(heard_.lines[0]).substr(std::string_view("0 a out ").size()));
  ASSERT_TRUE(start.ok()) << heard_.lines[0];
  EXPECT_THAT(start->spec.command, ElementsAre("program"));
  EXPECT_THAT(start->spec.environment, Contains(std::pair<std::string, std::string>("RUDDER_HOST", "a")));
  EXPECT_EQ(start->spec.master_address, "10.0.0.1");
  EXPECT_EQ(start->spec.master_port, 29400);
  EXPECT_EQ(start->ranks, (RankRange{0, 1}));
  EXPECT_THAT(heard_.lines[1], HasSubstr("warden"));
  EXPECT_THAT(heard_.lines[1], ::testing::Not(HasSubstr(start->spec.secret.hex())));
}

TEST_F(RunOnHosts, AHostThatCannotBeReachedIsNamedWithTheReason) {
  const auto outcome =
      run("if [ $0 = a ]; then cat >/dev/null; else printf 'no route to b\\r\\n\\n' >&2; exit 255; fi");
  ASSERT_TRUE(outcome.ok());
  ASSERT_TRUE(outcome->failure.has_value());
  EXPECT_EQ(outcome->failure->what, "host b cannot be reached: sh exited with code 255 (no route to b)");
  EXPECT_FALSE(outcome->started);
  EXPECT_THAT(outcome->lost, ElementsAre("b"));
  EXPECT_LE(outcome->ranks_gone, steady_clock().now());
}

TEST_F(RunOnHosts, AHostThatDoesNotAnswerIsNamedAfterTheDeadline) {
  deadline_ = from_seconds(0.5);
  const auto outcome = run("sleep 100", {"a"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host a cannot be reached: no answer within 0.5 s");
}

TEST_F(RunOnHosts, AHostThatFallsSilentIsLost) {
  deadline_ = from_seconds(0.5);
  const auto outcome = run(each("sleep 100", kObedient));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host a was lost: nothing was heard of it for 0.5 s");
  EXPECT_TRUE(outcome->failure->restart_helps);
  EXPECT_THAT(outcome->lost, ElementsAre("a"));
  EXPECT_GT(outcome->ranks_gone, steady_clock().now());
}

TEST_F(RunOnHosts, AHostWhoseConnectionEndsIsLost) {
  const auto outcome =
      run(each("echo 'Connection reset' >&2; exit 255", "read -r line; echo exit 1 143 15 1"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host a was lost: sh exited with code 255 (Connection reset)");
  EXPECT_THAT(outcome->lost, ElementsAre("a"));
}

TEST_F(RunOnHosts, TheFirstRankThatFailsEndsAll) {
  const auto outcome =
      run(each("echo exit 0 7 0 0", "read -r line; echo \"out 1 $line\"; echo exit 1 143 15 1"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "rank 0 on host a exited with code 7");
  EXPECT_EQ(outcome->failure->code, 7);
  EXPECT_FALSE(outcome->failure->restart_helps);
  EXPECT_FALSE(outcome->all_succeeded);
  EXPECT_THAT(heard_.lines, ElementsAre("1 b out signal 15"));
}

TEST_F(RunOnHosts, ARankThatWasKilledIsTheCauseAlsoWhenAnotherIsHeardOfFirst) {
  const auto outcome = run(each("echo exit 0 1 0 0", "read -r line; echo exit 1 137 9 0"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "rank 1 on host b was killed by signal 9 (Killed)");
  EXPECT_EQ(outcome->failure->code, 137);
  EXPECT_TRUE(outcome->failure->restart_helps);
}

TEST_F(RunOnHosts, AHostThatDoesNotEndWhenAskedToIsLost) {
  const auto outcome = run(each("echo exit 0 1 0 0", "while echo alive; do sleep 0.1; done"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host b was lost: its ranks did not end within 5.2 s");
}

TEST_F(RunOnHosts, AWardenThatGivesUpSaysWhy) {
  const auto outcome =
      run(each("echo error cannot run program: No such file; exit 1", "read -r line; echo exit 1 143 15 1"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host a: cannot run program: No such file");
  EXPECT_FALSE(outcome->failure->restart_helps);
  EXPECT_THAT(outcome->lost, IsEmpty());
}

TEST_F(RunOnHosts, AWardenThatWasStoppedMakesARestartWorthwhile) {
  const auto outcome = run(each("echo exit 0 143 15 1; echo ended 15", "read -r line; echo exit 1 143 15 1"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "the warden of host a was stopped by signal 15 (Terminated)");
  EXPECT_TRUE(outcome->failure->restart_helps);
}

TEST_F(RunOnHosts, AnotherVersionIsRefused) {
  const auto outcome =
      run("read -r hello; echo 'rudder-warden "
          "{\"version\":\"0.9\",\"address\":\"\",\"loopback\":false,\"port\":1,\"error\":\"\"}'; cat");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure->what, "host a: /opt/my rudder/rudder there is version 0.9, this one is 1");
  EXPECT_FALSE(outcome->started);
}

TEST_F(RunOnHosts, NonsenseFromAHostIsAnErrorThatNamesIt) {
  for (const auto& [said, why] : std::vector<std::pair<std::string, std::string>>{
           {"echo nonsense", "'nonsense' is no line of a warden"},
           {"echo exit 1 0 0 0", "it speaks of rank 1, which does not run there"},
           {"echo out 1 x", "it speaks of rank 1, which does not run there"},
           {"echo exit 0 0 0 0; echo exit 0 0 0 0; cat", "it speaks of rank 0, which does not run there"}}) {
    heard_ = {};
    const auto outcome = run(each(said + "; sleep 100", "read -r line; echo exit 1 143 15 1"));
    ASSERT_TRUE(outcome.ok());
    ASSERT_TRUE(outcome->failure.has_value()) << said;
    EXPECT_EQ(outcome->failure->what, "host a was lost: " + why);
    EXPECT_THAT(heard_.lines, IsEmpty());
  }
  const auto outcome = run("read -r hello; echo 'rudder-warden {}'; cat", {"a"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome->failure->what,
              HasSubstr("host a cannot be reached: the warden's greeting has no valid 'version'"));
}

TEST_F(RunOnHosts, TheFirstHostNeedsAnAddressThatOthersReach) {
  const auto outcome =
      run("read -r hello; echo 'rudder-warden "
          "{\"version\":\"1\",\"address\":\"127.0.1.1\",\"loopback\":true,\"port\":1,\"error\":\"\"}'; cat");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message,
            "host b takes 'a' for itself (127.0.1.1); give a an address=... in the hosts file, by which the "
            "others reach it");
}

TEST_F(RunOnHosts, SignalsArePassedOn) {
  on_line_ = [](std::string_view line) {
    if (line == "trained") {
      ::kill(::getpid(), SIGINT);
    }
  };
  const auto outcome = run(each("echo out 0 trained; read -r line; echo \"out 0 $line\"; echo exit 0 130 2 1",
                                "read -r line; echo exit 1 0 0 1"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->received_signal, SIGINT);
  EXPECT_FALSE(outcome->failure.has_value());
  EXPECT_FALSE(outcome->all_succeeded);
  EXPECT_THAT(heard_.lines, ElementsAre("0 a out trained", "0 a out signal 2"));
}

}  // namespace
}  // namespace rudder::launch
