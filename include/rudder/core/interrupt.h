// SPDX-License-Identifier: Apache-2.0
// What happens when a signal ends the program: unfinished files and folders are removed and the program says
// why it ended.
#pragma once

#include <filesystem>
#include <string>
#include <thread>

#include "rudder/core/result.h"

namespace rudder {

/// "signal 2 (Interrupt)".
[[nodiscard]] std::string signal_text(int signal);

/// Opens /dev/null where standard input, output or error is closed, so that no file opened later is taken for
/// one of them. Writing to a closed standard output stays an error. Called first in main().
void occupy_standard_descriptors() noexcept;

/// A file or folder that is removed, with its contents, if a signal ends the program while this lives.
/// AtomicFile and TemporaryDirectory hold one. Costs one lock to make and one to drop.
class PendingPath {
 public:
  PendingPath() = default;
  /// Files: register before creating. Waits for ever when the program is being ended, so that nothing new
  /// appears behind the removal.
  explicit PendingPath(std::filesystem::path path);
  PendingPath(PendingPath&& other) noexcept;
  PendingPath& operator=(PendingPath&& other) noexcept;
  ~PendingPath();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;  ///< empty: holds nothing
};

/// While it lives, SIGINT, SIGTERM and SIGHUP remove all pending paths, write "rudder: stopped by signal N
/// (NAME)" to standard error and end the process with code 128 + N, at once and whatever its threads do.
/// Signals that the program was started to ignore stay ignored. Code with an ending of its own (the launcher,
/// the trainer) sets its handlers above these. One at a time, made by main() before other threads.
class InterruptGuard {
 public:
  [[nodiscard]] static Result<InterruptGuard> install();
  InterruptGuard(InterruptGuard&& other) noexcept = default;
  InterruptGuard& operator=(InterruptGuard&&) = delete;
  /// Restores what was there before and joins the thread.
  ~InterruptGuard();

 private:
  explicit InterruptGuard(int read_end);
  std::thread watcher_;
};

}  // namespace rudder
