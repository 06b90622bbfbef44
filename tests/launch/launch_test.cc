// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"
#include "rudder/launch/network.h"
#include "rudder/launch/process.h"

namespace rudder::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Command shell(std::string name, std::string script) {
  Command command;
  command.name = std::move(name);
  command.arguments = {"sh", "-c", std::move(script)};
  return command;
}

TEST(Supervise, CollectsLinesAndExitCodes) {
  std::map<std::string, std::vector<std::string>> lines;
  SuperviseOptions options;
  options.on_line = [&](std::size_t child, Stream stream, std::string_view line) {
    lines[std::string(child == 0 ? "a" : "b") + (stream == Stream::kOut ? "/out" : "/err")].emplace_back(
        line);
  };
  Command with_variable = shell("b", "echo $COLOUR; printf unfinished");
  with_variable.environment.emplace_back("COLOUR", "blue");
  const auto result = supervise({shell("a", "echo one; echo two >&2; echo three"), with_variable}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->first_failure.has_value());
  EXPECT_THAT(lines["a/out"], ElementsAre("one", "three"));
  EXPECT_THAT(lines["a/err"], ElementsAre("two"));
  EXPECT_THAT(lines["b/out"], ElementsAre("blue", "unfinished"));
}

TEST(Supervise, AProgramThatCannotRunIsOneError) {
  Command missing;
  missing.name = "b";
  missing.arguments = {"no-such-program-here", "word"};
  Command forbidden = missing;
  forbidden.arguments = {"/dev/null"};
  int lines = 0;
  SuperviseOptions options;
  options.on_line = [&](std::size_t, Stream, std::string_view) { ++lines; };
  const auto result = supervise({shell("a", "sleep 30"), missing}, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "cannot run no-such-program-here: No such file or directory");
  const auto denied = supervise({forbidden}, options);
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().message, "cannot run /dev/null: Permission denied");
  EXPECT_EQ(lines, 0);
}

TEST(Supervise, FirstFailureEndsTheOthers) {
  auto directory = TemporaryDirectory::create("launch-test");
  ASSERT_TRUE(directory.ok());
  const std::string ready = (directory->path() / "ready").string();
  const TimePoint before = steady_clock().now();
  SuperviseOptions options;
  options.grace = from_seconds(0.3);
  const auto result =
      supervise({shell("sleeper", "sleep 60"),
                 shell("stubborn", "trap '' TERM; : >" + ready + "; sleep 60 & wait; sleep 60"),
                 shell("bad", "while [ ! -e " + ready + " ]; do sleep 0.01; done; exit 7")},
                options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->first_failure, 2U);
  EXPECT_EQ(result->exits[2].describe(), "bad exited with code 7");
  EXPECT_EQ(result->exits[0].signal, SIGTERM);
  EXPECT_EQ(result->exits[1].signal, SIGKILL);
  EXPECT_LT(to_seconds(steady_clock().now() - before), 10);
}

TEST(Supervise, ReportsTheSignalThatKilledAChild) {
  const auto result = supervise({shell("victim", "kill -9 $$")}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->exits[0].describe(), HasSubstr("victim was killed by signal 9"));
  EXPECT_EQ(result->exits[0].code, 137);
}

TEST(Supervise, PassesSignalsOn) {
  SuperviseOptions options;
  const pid_t self = ::getpid();
  options.on_line = [&](std::size_t, Stream, std::string_view line) {
    if (line == "ready") {
      ::kill(self, SIGINT);
    }
  };
  const auto result =
      supervise({shell("child", "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done")}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->received_signal, SIGINT);
  EXPECT_EQ(result->exits[0].code, 5);
}

TEST(Supervise, EnforcesItsLimit) {
  SuperviseOptions options;
  options.limit = from_seconds(0.1);
  const auto result = supervise({shell("slow", "sleep 60")}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exits[0].signal, SIGTERM);
}

TEST(Supervise, LeavesNoGrandchildren) {
  std::string grandchild;
  SuperviseOptions options;
  options.on_line = [&](std::size_t, Stream, std::string_view line) { grandchild = line; };
  ASSERT_TRUE(supervise({shell("parent", "sleep 60 >/dev/null 2>&1 & echo $!")}, options).ok());
  const auto pid = static_cast<pid_t>(std::stol(grandchild));
  // The orphan is reaped by init; it must at least be dead or a zombie within a moment.
  for (int i = 0; i < 200 && ::kill(pid, 0) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto state = run_and_capture({"ps", "-o", "stat=", "-p", grandchild}, from_seconds(5));
    if (!state || state->starts_with("Z")) {
      return;
    }
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(RunAndCapture, SaysWhyACommandFailed) {
  EXPECT_EQ(run_and_capture({"echo", "a b"}, from_seconds(5)).value(), "a b\n");
  const auto failed = run_and_capture({"sh", "-c", "echo reason >&2; exit 3"}, from_seconds(5));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("code 3; reason"));
  EXPECT_FALSE(run_and_capture({"no-such-program-here"}, from_seconds(5)).ok());
}

std::set<std::string> machine_interfaces() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST(VirtualNetwork, ConnectsHostsAndVanishes) {
  if (const auto possible = can_make_network(); !possible) {
    GTEST_SKIP() << possible.error().message;
  }
  std::string first;
  {
    const std::set<std::string> before = machine_interfaces();
    auto network = VirtualNetwork::create(2, 80e6);
    ASSERT_TRUE(network.ok()) << network.error().message;
    for (const std::string& name : machine_interfaces()) {
      EXPECT_TRUE(before.count(name) > 0 || !name.starts_with("rud"))
          << name << " is among the machine's own";
    }
    const auto& hosts = (*network)->hosts();
    first = hosts[0].network_namespace;
    Command look;
    look.name = "look";
    look.arguments = {"ip", "-o", "-4", "addr", "show", "dev", "eth0"};
    look.network_namespace = hosts[1].network_namespace;
    std::vector<std::string> lines;
    SuperviseOptions options;
    options.on_line = [&](std::size_t, Stream, std::string_view line) { lines.emplace_back(line); };
    ASSERT_TRUE(supervise({look}, options).ok());
    EXPECT_THAT(lines, Contains(HasSubstr(hosts[1].address)));
    const auto before_ping = (*network)->bytes(0);
    ASSERT_TRUE(before_ping.ok()) << before_ping.error().message;
    look.arguments = {"bash", "-c", "exec 3<>/dev/udp/" + hosts[0].address + "/9; echo sent >&3"};
    ASSERT_TRUE(supervise({look}, {}).ok());
    EXPECT_GT((*network)->bytes(0)->received, before_ping->received);
    EXPECT_TRUE(std::filesystem::exists("/var/run/netns/" + first));
  }
  EXPECT_FALSE(std::filesystem::exists("/var/run/netns/" + first));
}

/// Counts what comes over several connections, a line of the sum so far every 50 ms, four seconds long.
constexpr std::string_view kReceive = R"(
import selectors, socket, time
server = socket.create_server(("", 7000))
ends = selectors.DefaultSelector()
for _ in range(4): ends.register(server.accept()[0], selectors.EVENT_READ)
total, start, lines = 0, time.monotonic(), 0
while lines < 80:
    for key, _ in ends.select(0.01): total += len(key.fileobj.recv(1 << 20))
    if time.monotonic() - start > 0.05 * lines:
        print(total, flush=True)
        lines += 1
)";
constexpr std::string_view kSend = R"(
import selectors, socket, sys, time
ends = selectors.DefaultSelector()
while len(ends.get_map()) < 4:
    try: ends.register(socket.create_connection((sys.argv[1], 7000), 5), selectors.EVENT_WRITE)
    except ConnectionRefusedError: time.sleep(0.02)
while True:
    for key, _ in ends.select():
        try: key.fileobj.send(bytes(1 << 16))
        except OSError: sys.exit()
)";

TEST(VirtualNetwork, FullLinksCarryOnWhenTheirRateFalls) {
  if (const auto possible = can_make_network(); !possible) {
    GTEST_SKIP() << possible.error().message;
  }
  auto network = VirtualNetwork::create(2, 100e6);
  ASSERT_TRUE(network.ok()) << network.error().message;
  const auto& hosts = (*network)->hosts();
  Command receive;
  receive.name = "receive";
  receive.arguments = {"python3", "-c", std::string(kReceive)};
  receive.network_namespace = hosts[0].network_namespace;
  Command send = receive;
  send.name = "send";
  send.arguments = {"python3", "-c", std::string(kSend), hosts[0].address};
  send.network_namespace = hosts[1].network_namespace;
  // Slow for six lines, fast for two: what is queued at the fast rate has to leave at the slow one.
  std::vector<double> sums;
  SuperviseOptions options;
  options.on_line = [&](std::size_t, Stream, std::string_view line) {
    sums.push_back(parse_double(line).value_or(-1));
    if (sums.size() % 8 == 2) {
      EXPECT_TRUE((*network)->set_rate(25e6).ok());
    } else if (sums.size() % 8 == 0) {
      EXPECT_TRUE((*network)->set_rate(100e6).ok());
    }
  };
  const auto result = supervise({receive, send}, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(sums.size(), 80U);
  for (std::size_t i = 2; i + 5 < sums.size(); i += 8) {
    EXPECT_GT(sums[i + 5] - sums[i], 0.25 * 25e6 / 8 * 0.2) << "nothing moves after line " << i;
  }
}

TEST(VirtualNetwork, RemovesWhatADeadProcessLeft) {
  if (const auto possible = can_make_network(); !possible) {
    GTEST_SKIP() << possible.error().message;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    auto network = VirtualNetwork::create(1, 0);
    ::_exit(network.ok() ? 0 : 1);  // no destructor runs
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string left = "/var/run/netns/rud" + std::to_string(child) + "h0";
  ASSERT_TRUE(std::filesystem::exists(left));
  ASSERT_TRUE(VirtualNetwork::create(1, 0).ok());
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace rudder::launch
