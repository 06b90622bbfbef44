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
};

/// How a child ended.
struct Exit {
  std::string name;
  int code = 0;    ///< exit code, or 128 + signal
  int signal = 0;  ///< 0 when it exited by itself
  [[nodiscard]] bool failed() const noexcept { return code != 0; }
  [[nodiscard]] std::string describe()
      const;  ///< "rank 2 exited with code 1", "rank 2 was killed by signal 9 (Killed)"
};

enum class Stream : unsigned char { kOut, kErr };

struct SuperviseOptions {
  /// Every complete line a child writes, on the supervising thread.
  std::function<void(const std::string& name, Stream stream, std::string_view line)> on_line;
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
/// order of `commands` and the index of the first failure; nothing is left running. Not reentrant (it owns
/// the process's signal mask meanwhile).
struct SuperviseResult {
  std::vector<Exit> exits;
  std::optional<std::size_t> first_failure;
  int received_signal = 0;  ///< that ended the run, 0 when none
};
[[nodiscard]] Result<SuperviseResult> supervise(const std::vector<Command>& commands,
                                                const SuperviseOptions& options);

/// Runs one command to its end and returns its standard output; a non-zero exit is an error with its standard
/// error.
[[nodiscard]] Result<std::string> run_and_capture(const std::vector<std::string>& arguments, Duration limit);

}  // namespace rudder::launch
