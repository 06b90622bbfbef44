// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/process.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>

#include "rudder/core/interrupt.h"

#include "launch/child.h"
#include "launch/signals.h"

namespace rudder::launch {
namespace {

class Supervisor {
 public:
  Supervisor(const SuperviseOptions& options, const WakePipe& wake) : options_(options), wake_(wake) {}

  Status start(const std::vector<Command>& commands) {
    children_.reserve(commands.size());
    for (const Command& command : commands) {
      auto child = Child::start(command);
      if (!child) {
        signal_all(SIGKILL);
        ending_ = killed_ = true;
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
      for (std::size_t i = 0; i < children_.size(); ++i) {
        read_output(i);
      }
      collect();
      if (result_.first_failure && !ending_) {
        end_all(SIGTERM);
      }
      if (const int signal = wanted_signal(); signal != 0) {
        end_all(signal);
      }
    }
    for (std::size_t i = 0; i < children_.size(); ++i) {
      read_output(i);
      children_[i].flush(line_sink(i));
      result_.exits.push_back(exits_[i]);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool any_running() const {
    return std::any_of(children_.begin(), children_.end(),
                       [](const Child& child) { return child.running(); });
  }

  void signal_all(int signal) {
    for (const Child& child : children_) {
      child.signal(signal);
    }
  }

  void end_all(int signal) {
    collect();  // who has ended already was not stopped
    signal_all(signal);
    if (!ending_) {
      ending_ = true;
      kill_at_ = steady_clock().now() + options_.grace;
    }
  }

  /// A signal that this process got or that whoever watches it wants, or 0.
  int wanted_signal() {
    if (const int signal = options_.pass_signals ? SignalScope::take() : 0; signal != 0) {
      result_.received_signal = signal;
      return signal;
    }
    return options_.overseer != nullptr ? options_.overseer->wanted_signal() : 0;
  }

  void wait_for_event(TimePoint started, TimePoint now) {
    TimePoint wake = now + from_seconds(1);
    if (options_.limit && !ending_) {
      wake = std::min(wake, started + *options_.limit);
    }
    if (ending_ && !killed_) {
      wake = std::min(wake, kill_at_);
    }
    std::vector<pollfd> events = {{wake_.fd(), POLLIN, 0}};
    if (options_.overseer != nullptr) {
      events.push_back({options_.overseer->descriptor(), POLLIN, 0});  // poll() passes over a -1
      wake = std::min(wake, options_.overseer->next_turn());
    }
    for (const Child& child : children_) {
      child.add_to(events);
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(wake - now, Duration{0}));
    ::poll(events.data(), events.size(), static_cast<int>(wait.count()));
    wake_.drain();
  }

  Child::LineSink line_sink(std::size_t index) {
    return [this, index](Stream stream, std::string_view line) {
      if (options_.on_line) {
        options_.on_line(index, stream, line);
      }
    };
  }

  void read_output(std::size_t index) { children_[index].drain(line_sink(index)); }

  void collect() {
    exits_.resize(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (children_[i].reap()) {
        read_output(i);
        note_exit(i);
      }
    }
  }

  void note_exit(std::size_t index) {
    Exit& exit = exits_[index];
    exit = children_[index].exit();
    // Whoever was killed before this process kills anybody was not killed by it.
    exit.stopped = ending_ && (exit.signal != SIGKILL || killed_);
    if (exit.failed() && !exit.stopped && result_.received_signal == 0) {
      std::optional<std::size_t>& first = result_.first_failure;
      if (!first || (exit.signal != 0 && exits_[*first].signal == 0)) {
        first = index;
      }
    }
    if (options_.on_exit) {
      options_.on_exit(index, exit);
    }
  }

  const SuperviseOptions& options_;
  const WakePipe& wake_;
  std::vector<Child> children_;
  std::vector<Exit> exits_;  ///< by child, once it has ended
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
  options.on_line = [&](std::size_t, Stream stream, std::string_view line) {
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
