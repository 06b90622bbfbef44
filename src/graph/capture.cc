// SPDX-License-Identifier: Apache-2.0
#include "graph/capture.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rudder::graph {
namespace {

Error system_error(const std::string& what, int number) {
  return Error{number == ENOENT ? Errc::kNotFound : Errc::kIo, fmt::format("{}: {}", what, strerror(number))};
}

/// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  [[nodiscard]] int get() const { return fd_; }
  void reset() {
    ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// This process's environment in the C locale.
std::vector<std::string> plain_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("LC_") && !text.starts_with("LANG")) {
      out.emplace_back(text);
    }
  }
  out.emplace_back("LC_ALL=C");
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(std::vector<std::string> command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  std::vector<std::string> environment = plain_environment();
  std::vector<char*> arguments = pointers(command);
  std::vector<char*> variables = pointers(environment);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return system_error(command[0], failed);
  }
  return child;
}

Error too_late(const std::string& name, const CaptureLimits& limits) {
  return {Errc::kTimeout,
          fmt::format("waited {} s for {}, which did not end", to_seconds(limits.time), name)};
}

/// Reads until the other side closes.
Status read_all(int fd, const std::string& name, const CaptureLimits& limits, Deadline deadline,
                std::string& out) {
  std::vector<char> chunk(std::size_t{1} << 16);
  while (true) {
    const Duration left = deadline.at() - steady_clock().now();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, Duration{})).count();
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(wait, 60'000)));
    if (count < 0 && errno != EINTR) {
      return system_error("waiting for " + name, errno);
    }
    if (count <= 0) {
      if (deadline.passed()) {
        return too_late(name, limits);
      }
      continue;
    }
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno != EINTR) {
      return system_error("reading from " + name, errno);
    }
    if (got == 0) {
      return {};
    }
    if (got > 0) {
      if (out.size() + static_cast<std::size_t>(got) > limits.bytes) {
        return Error{Errc::kInvalidData, fmt::format("{} wrote more than {} bytes", name, limits.bytes)};
      }
      out.append(chunk.data(), static_cast<std::size_t>(got));
    }
  }
}

/// Reaps the child, killing it first when the deadline passes; `status` is waitpid's.
Status reap(pid_t child, const std::string& name, const CaptureLimits& limits, Deadline deadline,
            int& status) {
  Status outcome;
  // A program that closed its output is about to end: poll briefly instead of setting up a signal.
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (deadline.passed() && outcome.ok()) {
      ::kill(child, SIGKILL);
      outcome = too_late(name, limits);
    }
    steady_clock().sleep_until(steady_clock().now() + std::chrono::milliseconds(1));
  }
  return outcome;
}

}  // namespace

Result<std::string> capture_output(const std::vector<std::string>& command, const CaptureLimits& limits) {
  const std::string name = fmt::format("{}", fmt::join(command, " "));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_error("pipe", errno);
  }
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  RUDDER_ASSIGN(const pid_t child, spawn(command, writer.get()));
  writer.reset();
  std::string out;
  const Deadline deadline = Deadline::in(limits.time);
  const Status done = read_all(reader.get(), name, limits, deadline, out);
  if (!done.ok()) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  const Status reaped = reap(child, name, limits, deadline, status);
  RUDDER_TRY(done);
  RUDDER_TRY(reaped);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{Errc::kInternal, WIFEXITED(status)
                                      ? fmt::format("{} ended with status {}", name, WEXITSTATUS(status))
                                      : fmt::format("{} was ended by signal {}", name, WTERMSIG(status))};
  }
  return out;
}

}  // namespace rudder::graph
