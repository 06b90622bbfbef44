// SPDX-License-Identifier: Apache-2.0
// A terminal that a command draws on until it ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <termios.h>

namespace rudder::cli {

/// Standard output's second screen, and keys from standard input where that is a terminal too. The first
/// screen and the terminal's modes come back on destruction. One at a time.
class TerminalScreen {
 public:
  /// Whether standard output is a terminal that can be drawn on.
  [[nodiscard]] static bool possible();

  TerminalScreen();
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };
  [[nodiscard]] static Size size();
  /// Replaces what is shown. `text` fits the size, and its lines end with a line break.
  void draw(std::string_view text);
  /// For poll(): readable when a key was pressed; -1 when there are no keys.
  [[nodiscard]] int keys() const noexcept { return modes_ ? 0 : -1; }
  /// The key that was pressed; nothing when the terminal has gone, after which there are no keys.
  [[nodiscard]] std::optional<char> read_key();
  /// Gives the terminal back as it was, and takes it again.
  void leave();
  void enter();

 private:
  std::optional<termios> modes_;  ///< as they were; nothing: standard input is not ours to change
};

}  // namespace rudder::cli
