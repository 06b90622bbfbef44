// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "launch/warden_wire.h"

namespace rudder::launch {
namespace {

constexpr Duration kFirstSilence =
    std::chrono::seconds(60);    // until the launcher has said how long it may be
constexpr int kSignsOfLife = 4;  // within the longest silence

int milliseconds_until(TimePoint when) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - steady_clock().now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000));
}

}  // namespace

LauncherLink::LauncherLink(Fd in, Fd out)
    : in_(std::move(in)),
      out_(std::move(out)),
      silence_(kFirstSilence),
      heard_(steady_clock().now()),
      sent_(heard_) {
  for (const int fd : {in_.fd(), out_.get()}) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
}

void LauncherLink::set_silence(Duration longest) {
  silence_ = longest;
}

TimePoint LauncherLink::next_turn() const noexcept {
  return sent_ + silence_ / kSignsOfLife;
}

void LauncherLink::turn() {
  read();
  judge_silence();
  if (steady_clock().now() >= next_turn()) {
    send(kAlive);
  }
}

std::optional<std::string> LauncherLink::take_line() {
  if (lines_.empty()) {
    return std::nullopt;
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

Result<std::string> LauncherLink::wait_line() {
  for (;;) {
    turn();
    if (auto line = take_line()) {
      return *std::move(line);
    }
    if (!lost_.empty()) {
      return Error{Errc::kPeer, lost_};
    }
    pollfd event{in_.fd(), POLLIN, 0};
    ::poll(&event, 1, milliseconds_until(next_turn()));
  }
}

void LauncherLink::send(std::string_view line) {
  std::string text(line);
  text.push_back('\n');
  std::string_view rest = text;
  while (!rest.empty() && lost_.empty()) {
    const ssize_t n = ::write(out_.get(), rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      wait_writable();
    } else if (errno != EINTR) {
      lose(errno_error("the launcher is gone").message);
    }
  }
  sent_ = steady_clock().now();
}

void LauncherLink::read() {
  if (!in_.open()) {
    return;
  }
  in_.drain([this](std::string_view line) {
    heard_ = steady_clock().now();
    if (line != kAlive) {
      lines_.emplace_back(line);
    }
  });
  if (!in_.open()) {
    lose("the launcher is gone");
  }
}

void LauncherLink::judge_silence() {
  if (lost_.empty() && steady_clock().now() > heard_ + silence_) {
    lose(fmt::format("nothing was heard of the launcher for {:.1f} s", to_seconds(silence_)));
  }
}

void LauncherLink::wait_writable() {
  std::array<pollfd, 2> events = {pollfd{out_.get(), POLLOUT, 0}, pollfd{in_.fd(), POLLIN, 0}};
  ::poll(events.data(), events.size(), milliseconds_until(heard_ + silence_));
  read();
  judge_silence();
}

void LauncherLink::lose(std::string why) {
  if (lost_.empty()) {
    lost_ = std::move(why);
  }
}

}  // namespace rudder::launch
