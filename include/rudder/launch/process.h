// SPDX-License-Identifier: Apache-2.0
// Child processes of this machine: started together, watched, ended together.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::launch {

struct Command {
  std::string name;                                              ///< for messages and output: "rank 2"
  std::vector<std::string> arguments;                            ///< argv; argv[0] is searched in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to this process's own
  std::string network_namespace;                                 ///< of iproute2; empty: this one
  bool input_from_pipe = false;                                  ///< else standard input is this process's
};

/// How a child ended.
struct Exit {
  std::string name;
  int code = 0;          ///< exit code, or 128 + signal
  int signal = 0;        ///< 0 when it exited by itself
  bool stopped = false;  ///< ended after it had been asked to
  [[nodiscard]] bool failed() const noexcept { return code != 0; }
  [[nodiscard]] std::string describe()
      const;  ///< "rank 2 exited with code 1", "rank 2 was killed by signal 9 (Killed)"
};

enum class Stream : unsigned char { kOut, kErr };

/// Somebody outside this process who may want its children ended.
class Overseer {
 public:
  Overseer() = default;
  Overseer(const Overseer&) = delete;
  Overseer& operator=(const Overseer&) = delete;
  virtual ~Overseer() = default;

  /// Readable when there is something to take in; -1: none.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// When wanted_signal() is asked at the latest.
  [[nodiscard]] virtual TimePoint next_turn() const = 0;
  /// A signal to end the children with, or 0.
  [[nodiscard]] virtual int wanted_signal() = 0;
};

/// Everything is called on the supervising thread; what is empty is not called. Children are numbered in the
/// order of their commands.
struct SuperviseOptions {
  /// Every complete line a child writes.
  std::function<void(std::size_t child, Stream stream, std::string_view line)> on_line;
  /// A child's end, as soon as it is known, after what it wrote.
  std::function<void(std::size_t child, const Exit& exit)> on_exit;
  Overseer* overseer = nullptr;
  Duration grace = from_seconds(5);  ///< between SIGTERM and SIGKILL once something failed
  std::optional<Duration> limit;     ///< on the whole run
  bool pass_signals = true;          ///< SIGINT, SIGTERM, SIGHUP sent to this process go on to the children
};

/// While one lives, SIGINT, SIGTERM and SIGHUP do not end this process but wait to be taken, so that whoever
/// made something outside the process (network namespaces, children) can remove it first. May nest; handlers
/// are those of the outermost. Whichever thread the system picks may receive the signal.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  /// The signal that came last and was not taken yet, or 0.
  [[nodiscard]] static int take() noexcept;
};

/// Runs all commands at once, each in a process group of its own that dies with this process. When one fails,
/// the others are ended (SIGTERM to the group, after `grace` SIGKILL). Returns every child's exit in the
/// order of `commands` and which failure was the cause; nothing is left running. Not reentrant (it owns
/// the process's signal mask meanwhile).
struct SuperviseResult {
  std::vector<Exit> exits;
  /// The first failure; of those that were seen before the others could be stopped, rather one by a signal:
  /// a process that is killed makes its peers fail, not the other way round.
  std::optional<std::size_t> first_failure;
  int received_signal = 0;  ///< that ended the run, 0 when none
};
[[nodiscard]] Result<SuperviseResult> supervise(const std::vector<Command>& commands,
                                                const SuperviseOptions& options);

/// Runs one command to its end and returns its standard output; a non-zero exit is an error with its standard
/// error.
[[nodiscard]] Result<std::string> run_and_capture(const std::vector<std::string>& arguments, Duration limit);

}  // namespace rudder::launch
