// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_screen.h"

#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace rudder::cli {
namespace {

// ECMA-48 and xterm: second screen, no cursor; home; erase to the end of the line, and of the screen.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K\r\n";
constexpr std::string_view kEraseBelow = "\x1b[J";

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool TerminalScreen::possible() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

TerminalScreen::Size TerminalScreen::size() {
  winsize found{};
  Size size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > 0) {
    size = {found.ws_col, found.ws_row};
  }
  return size;
}

TerminalScreen::TerminalScreen() {
  termios modes{};
  // A background process that changes modes would be stopped.
  if (::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() &&
      ::tcgetattr(STDIN_FILENO, &modes) == 0) {
    modes_ = modes;
  }
  enter();
}

TerminalScreen::~TerminalScreen() {
  leave();
}

void TerminalScreen::enter() {
  if (modes_) {
    termios keys = *modes_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  write(kEnter);
}

void TerminalScreen::leave() {
  write(kLeave);
  if (modes_) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &*modes_);
  }
}

void TerminalScreen::draw(std::string_view text) {
  std::string out(kHome);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += text.substr(0, end);
    text.remove_prefix(end + 1);
    // No line break behind the last line: on a full screen it would scroll.
    out += text.empty() ? kEraseBelow : kEraseLine;
  }
  write(out);
}

std::optional<char> TerminalScreen::read_key() {
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) == 1) {
    return key;
  }
  modes_.reset();
  return std::nullopt;
}

}  // namespace rudder::cli
