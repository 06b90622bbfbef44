// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/interrupt.h"

#include "launch/signals.h"

namespace rudder::launch {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // longer ones are cut

/// One output of a child, cut into lines.
struct LineReader {
  Fd fd;
  Stream stream = Stream::kOut;
  std::string pending;

  /// Reads what is there and hands over complete lines; closes at the end, handing over the rest.
  template <class Sink>
  void drain(const Sink& sink) {
    std::array<char, 65536> chunk;
    while (fd.open()) {
      const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
      if (n < 0) {
        if (errno == EINTR) {
          continue;
        }
        if (errno == EAGAIN) {
          return;
        }
      }
      if (n <= 0) {
        fd.reset();
        if (!pending.empty()) {
          sink(stream, pending);
          pending.clear();
        }
        return;
      }
      pending.append(chunk.data(), static_cast<std::size_t>(n));
      std::size_t start = 0;
      for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', start)) {
        sink(stream, std::string_view(pending).substr(start, end - start));
        start = end + 1;
      }
      pending.erase(0, start);
      if (pending.size() > kLongestLine) {
        sink(stream, pending);
        pending.clear();
      }
    }
  }
};

struct Child {
  const Command* command = nullptr;
  pid_t pid = -1;
  bool running = false;
  std::array<LineReader, 2> outputs;
  Exit exit;
};

/// `failed`: gets errno when the program cannot be run, and is closed when it runs.
[[noreturn]] void exec_child(const Command& command, int out, int err, int failed) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<const char*> argv;
  if (!command.network_namespace.empty()) {
    // `ip netns exec` also remounts /sys, where network libraries look for interfaces.
    for (const char* word : {"ip", "netns", "exec"}) {
      argv.push_back(word);
    }
    argv.push_back(command.network_namespace.c_str());
  }
  for (const std::string& argument : command.arguments) {
    argv.push_back(argument.c_str());
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], const_cast<char* const*>(argv.data()));
  const int reason = errno;
  static_cast<void>(!::write(failed, &reason, sizeof reason));
  ::_exit(127);
}

Result<Child> start_child(const Command& command) {
  Child child;
  child.command = &command;
  child.exit.name = command.name;
  std::array<Fd, 2> write_ends;
  for (std::size_t i = 0; i < 2; ++i) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return errno_error("cannot create a pipe for " + command.name);
    }
    child.outputs[i].fd = Fd(ends[0]);
    child.outputs[i].stream = i == 0 ? Stream::kOut : Stream::kErr;
    write_ends[i] = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  std::array<int, 2> failure{};
  if (::pipe2(failure.data(), O_CLOEXEC) != 0) {
    return errno_error("cannot create a pipe for " + command.name);
  }
  const Fd failure_read(failure[0]);
  Fd failure_write(failure[1]);
  child.pid = ::fork();
  if (child.pid < 0) {
    return errno_error("cannot start " + command.name);
  }
  if (child.pid == 0) {
    exec_child(command, write_ends[0].get(), write_ends[1].get(), failure_write.get());
  }
  ::setpgid(child.pid, child.pid);  // also here, so that a signal sent at once reaches the group
  failure_write.reset();
  int reason = 0;
  if (::read(failure_read.get(), &reason, sizeof reason) == sizeof reason) {  // ends when the program runs
    ::waitpid(child.pid, nullptr, 0);
    return Error{Errc::kNotFound, fmt::format("cannot run {}: {}",
                                              command.network_namespace.empty() ? command.arguments[0] : "ip",
                                              std::generic_category().message(reason))};
  }
  child.running = true;
  return child;
}

void record_exit(Child& child, int status) {
  child.running = false;
  if (WIFSIGNALED(status)) {
    child.exit.signal = WTERMSIG(status);
    child.exit.code = 128 + child.exit.signal;
  } else {
    child.exit.code = WEXITSTATUS(status);
  }
  ::kill(-child.pid, SIGKILL);  // whatever it left behind in its group
}

class Supervisor {
 public:
  Supervisor(const SuperviseOptions& options, const WakePipe& wake) : options_(options), wake_(wake) {}

  Status start(const std::vector<Command>& commands) {
    children_.reserve(commands.size());
    for (const Command& command : commands) {
      auto child = start_child(command);
      if (!child) {
        signal_all(SIGKILL);
        run();
        return child.error();
      }
      children_.push_back(std::move(*child));
    }
    return {};
  }

  SuperviseResult run() {
    const TimePoint started = steady_clock().now();
    while (any_running()) {
      const TimePoint now = steady_clock().now();
      if (options_.limit && !ending_ && now >= started + *options_.limit) {
        end_all(SIGTERM);
      }
      if (ending_ && !killed_ && now >= kill_at_) {
        signal_all(SIGKILL);
        killed_ = true;
      }
      wait_for_event(started, now);
      read_outputs();
      reap();
      if (const int signal = options_.pass_signals ? SignalScope::take() : 0; signal != 0) {
        result_.received_signal = signal;
        end_all(signal);
      }
    }
    read_outputs();
    for (Child& child : children_) {
      for (LineReader& output : child.outputs) {
        // Somebody who left the child's group may still hold the pipe: what it was about to say is not waited
        // for.
        if (!output.pending.empty() && options_.on_line) {
          options_.on_line(child.command->name, output.stream, output.pending);
        }
      }
      result_.exits.push_back(child.exit);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool any_running() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.running; });
  }

  void signal_all(int signal) {
    for (const Child& child : children_) {
      if (child.running) {
        ::kill(-child.pid, signal);
      }
    }
  }

  void end_all(int signal) {
    signal_all(signal);
    if (!ending_) {
      ending_ = true;
      kill_at_ = steady_clock().now() + options_.grace;
    }
  }

  void wait_for_event(TimePoint started, TimePoint now) {
    TimePoint wake = now + from_seconds(1);
    if (options_.limit && !ending_) {
      wake = std::min(wake, started + *options_.limit);
    }
    if (ending_ && !killed_) {
      wake = std::min(wake, kill_at_);
    }
    std::vector<pollfd> fds = {{wake_.fd(), POLLIN, 0}};
    for (const Child& child : children_) {
      for (const LineReader& output : child.outputs) {
        if (output.fd.open()) {
          fds.push_back({output.fd.get(), POLLIN, 0});
        }
      }
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(wake - now, Duration{0}));
    ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
    wake_.drain();
  }

  void read_outputs() {
    for (Child& child : children_) {
      for (LineReader& output : child.outputs) {
        output.drain([&](Stream stream, std::string_view line) {
          if (options_.on_line) {
            options_.on_line(child.command->name, stream, line);
          }
        });
      }
    }
  }

  void reap() {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      int status = 0;
      if (child.running && ::waitpid(child.pid, &status, WNOHANG) == child.pid) {
        record_exit(child, status);
        if (child.exit.failed() && !ending_) {
          result_.first_failure = i;
          end_all(SIGTERM);
        }
      }
    }
  }

  const SuperviseOptions& options_;
  const WakePipe& wake_;
  std::vector<Child> children_;
  SuperviseResult result_;
  bool ending_ = false;
  bool killed_ = false;
  TimePoint kill_at_{};
};

}  // namespace

std::string Exit::describe() const {
  if (signal != 0) {
    return fmt::format("{} was killed by {}", name, signal_text(signal));
  }
  return fmt::format("{} exited with code {}", name, code);
}

Result<SuperviseResult> supervise(const std::vector<Command>& commands, const SuperviseOptions& options) {
  for (const Command& command : commands) {
    if (command.arguments.empty()) {
      return Error{Errc::kInvalidArgument, fmt::format("no command to run for {}", command.name)};
    }
  }
  const SignalScope signals;
  WakePipe wake;
  RUDDER_TRY(wake.open());
  Supervisor supervisor(options, wake);
  RUDDER_TRY(supervisor.start(commands));
  return supervisor.run();
}

Result<std::string> run_and_capture(const std::vector<std::string>& arguments, Duration limit) {
  std::string out;
  std::string err;
  SuperviseOptions options;
  options.limit = limit;
  options.pass_signals = false;
  options.on_line = [&](const std::string&, Stream stream, std::string_view line) {
    std::string& target = stream == Stream::kOut ? out : err;
    target.append(line);
    target.push_back('\n');
  };
  std::vector<Command> commands(1);
  commands[0].name = arguments.empty() ? "command" : arguments[0];
  commands[0].arguments = arguments;
  RUDDER_ASSIGN(const SuperviseResult result, supervise(commands, options));
  if (result.exits[0].failed()) {
    return Error{Errc::kInternal,
                 fmt::format("'{}' failed: {}; {}", fmt::join(arguments, " "), result.exits[0].describe(),
                             err.substr(0, err.find_last_not_of('\n') + 1))};
  }
  return out;
}

}  // namespace rudder::launch
