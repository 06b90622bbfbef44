// SPDX-License-Identifier: Apache-2.0
#include "llm/http_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "llm/tls.h"

namespace rudder::llm {
namespace {

// httplib reads lines (of heads, and chunk sizes) byte by byte and without a limit, keeps all headers, and
// matches some lines against regular expressions, which take stack for each byte.
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxLines = 256 * 1024;

}  // namespace

bool HttpStream::wait(short events, TimePoint until) {
  const Wait waited = wait_for(options_.socket, events, until, options_.stop);
  if (waited != Wait::kReady) {
    end_ = waited == Wait::kDeadline ? End::kDeadline : End::kStopped;
  }
  return waited == Wait::kReady;
}

bool HttpStream::is_readable() const {
  return taken_ < filled_ ||
         wait_for(options_.socket, POLLIN, options_.deadline, options_.stop) == Wait::kReady;
}

bool HttpStream::is_writable() const {
  return wait_for(options_.socket, POLLOUT, options_.deadline, options_.stop) == Wait::kReady;
}

/// As TlsConnection::transfer().
ssize_t HttpStream::transfer(char* to, const char* from, std::size_t size, short& wanted) {
  if (options_.tls != nullptr) {
    return options_.tls->transfer(to, from, size, wanted);
  }
  const ssize_t count = to != nullptr ? ::recv(options_.socket, to, size, 0)
                                      : ::send(options_.socket, from, size, MSG_NOSIGNAL);
  const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
  wanted = !later ? 0 : to != nullptr ? POLLIN : POLLOUT;
  return count;
}

bool HttpStream::fill() {
  for (;;) {
    // Asked first also where bytes are at hand: a flood must not outrun the deadline.
    if (steady_clock().now() >= options_.deadline) {
      end_ = End::kDeadline;
      return false;
    }
    short wanted = 0;
    const ssize_t count = transfer(buffer_.data(), nullptr, buffer_.size(), wanted);
    if (count > 0) {
      filled_ = static_cast<std::size_t>(count);
      taken_ = 0;
      return true;
    }
    if (count == 0 || wanted == 0) {
      end_ = count == 0 ? End::kClosed : End::kBroken;
      return false;
    }
    if (!wait(wanted, options_.deadline)) {
      return false;
    }
  }
}

bool HttpStream::fits(const char* bytes, std::size_t size) {
  total_ += size;
  if (size == 1) {
    ++lines_;
    line_ = *bytes == '\n' ? 0 : line_ + 1;
  }
  return total_ <= options_.most_bytes && line_ <= kMaxLine && lines_ <= kMaxLines;
}

ssize_t HttpStream::read(char* to, std::size_t size) {
  if (end_ != End::kOpen && end_ != End::kClosed) {
    return -1;
  }
  if (taken_ == filled_ && !fill()) {
    return end_ == End::kClosed ? 0 : -1;
  }
  const std::size_t count = std::min(size, filled_ - taken_);
  if (!fits(buffer_.data() + taken_, count)) {
    end_ = End::kTooMuch;
    return -1;
  }
  std::memcpy(to, buffer_.data() + taken_, count);
  taken_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t HttpStream::write(const char* from, std::size_t size) {
  const bool own_time = options_.write_time > Duration::zero();
  const TimePoint until = own_time ? steady_clock().now() + options_.write_time : options_.deadline;
  for (std::size_t sent = 0; sent < size;) {
    short wanted = 0;
    const ssize_t count = transfer(nullptr, from + sent, size - sent, wanted);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (wanted == 0) {
      end_ = End::kBroken;
      return -1;
    } else if (!wait(wanted, until)) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

void HttpStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = options_.socket;
}

void HttpStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace rudder::llm
