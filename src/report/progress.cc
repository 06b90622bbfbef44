// SPDX-License-Identifier: Apache-2.0
#include "rudder/report/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace rudder::report {
namespace {
constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kTextWidth = 60;
}  // namespace

Progress::Progress(std::string title) : title_(std::move(title)), terminal_(::isatty(STDERR_FILENO) == 1) {}

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
  const std::string line =
      fmt::format("\r\x1b[K{} [{}{}] {:3.0f} %  {}", title_, std::string(filled, '='),
                  std::string(kBarWidth - filled, ' '), 100 * clamped, what.substr(0, kTextWidth));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::note(std::string_view line) {
  erase();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace rudder::report
