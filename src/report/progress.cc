// SPDX-License-Identifier: Apache-2.0
#include "rudder/report/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rudder::report {
namespace {
constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kUsualColumns = 80;

/// A terminal that can erase a line.
bool can_redraw() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

/// Of the terminal now: a longer line would break, and only its last part could be erased.
std::size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

}  // namespace

Progress::Progress(std::string title) : title_(std::move(title)), terminal_(can_redraw()) {}

Progress::~Progress() {
  erase();
}

void Progress::erase() {
  if (drawn_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
  }
}

void Progress::update(double share, std::string_view what) {
  const TimePoint now = steady_clock().now();
  if (!terminal_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) {
    return;
  }
  last_ = now;
  const double clamped = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(clamped * static_cast<double>(kBarWidth));
  const std::string line = fmt::format("{} [{}{}] {:3.0f} %  {}", title_, std::string(filled, '='),
                                       std::string(kBarWidth - filled, ' '), 100 * clamped, what);
  std::fputs(("\r\x1b[K" + line.substr(0, columns() - 1)).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::note(std::string_view line) {
  erase();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace rudder::report
