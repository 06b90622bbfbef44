// SPDX-License-Identifier: Apache-2.0
// Descriptors, and the pipe by which signals wake a poll().
#pragma once

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/result.h"

namespace rudder::launch {

inline Error errno_error(std::string_view what) {
  return {Errc::kIo, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  void reset() {
    if (fd_ >= 0) {
      ::close(fd_);
      fd_ = -1;
    }
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool open() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// While one lives, the handlers of SignalScope write to it. One at a time.
class WakePipe {
 public:
  WakePipe() = default;
  ~WakePipe();
  WakePipe(const WakePipe&) = delete;
  WakePipe& operator=(const WakePipe&) = delete;

  [[nodiscard]] Status open();
  [[nodiscard]] int fd() const noexcept { return read_.get(); }
  void drain() const;

 private:
  Fd read_;
  Fd write_;
};

}  // namespace rudder::launch
