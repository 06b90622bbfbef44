// SPDX-License-Identifier: Apache-2.0
// A warden's connection to its launcher.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

#include "launch/child.h"
#include "launch/signals.h"

namespace rudder::launch {

/// Lines in both directions. The launcher is lost at the end of its input, when it takes nothing any more,
/// and when it has said nothing for the longest silence; what is sent then goes nowhere. For one thread.
class LauncherLink {
 public:
  /// Makes both non-blocking.
  LauncherLink(Fd in, Fd out);

  void set_silence(Duration longest);
  /// -1 when the input has ended.
  [[nodiscard]] int descriptor() const noexcept { return in_.fd(); }
  /// When turn() is due again.
  [[nodiscard]] TimePoint next_turn() const noexcept;
  /// Takes in what has come and shows a sign of life when it is time.
  void turn();
  [[nodiscard]] std::optional<std::string> take_line();
  /// Waits for the next line; an error when the launcher is lost first.
  [[nodiscard]] Result<std::string> wait_line();
  /// Waits while the launcher is slow to read.
  void send(std::string_view line);
  /// Why the launcher is lost; empty: it is not.
  [[nodiscard]] const std::string& lost() const noexcept { return lost_; }

 private:
  void read();
  void judge_silence();
  void wait_writable();
  void lose(std::string why);

  LineReader in_;
  Fd out_;
  std::deque<std::string> lines_;
  Duration silence_;
  TimePoint heard_;
  TimePoint sent_;
  std::string lost_;
};

}  // namespace rudder::launch
