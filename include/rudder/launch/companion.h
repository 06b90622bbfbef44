// SPDX-License-Identifier: Apache-2.0
// A child process that serves others while this process works.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/launch/process.h"

namespace rudder::launch {

/// It runs in a process group of its own and dies with the thread that started it. What it says once it is
/// ready is not read, and must fit into a pipe (64 KiB). Not thread-safe.
class Companion {
 public:
  /// Waits until it says a line on its standard error that `ready` picks. An error when it ends before, with
  /// what it said last, or when that takes longer than `patience`.
  [[nodiscard]] static Result<std::unique_ptr<Companion>> start(
      const Command& command, const std::function<bool(std::string_view)>& ready, Duration patience);
  /// Ends it: SIGTERM, and after five seconds SIGKILL.
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  [[nodiscard]] bool running();

 private:
  class Impl;
  explicit Companion(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::launch
