// SPDX-License-Identifier: Apache-2.0
#include "metrics/client_stream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace rudder::metrics {

bool ClientStream::wait_for(short events) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_.at() - steady_clock().now());
    if (left.count() <= 0) {
      return false;
    }
    std::array<pollfd, 2> wanted = {{{socket_, events, 0}, {stop_, POLLIN, 0}}};
    const int ready = ::poll(wanted.data(), wanted.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    return ready > 0 && wanted[1].revents == 0;
  }
}

bool ClientStream::is_readable() const {
  return read_ < received_ || wait_for(POLLIN);
}

bool ClientStream::is_writable() const {
  return wait_for(POLLOUT);
}

ssize_t ClientStream::read(char* to, std::size_t size) {
  while (read_ == received_) {
    if (received_ == request_.size()) {
      return 0;
    }
    if (!wait_for(POLLIN)) {
      return -1;
    }
    const ssize_t count = ::recv(socket_, request_.data() + received_, request_.size() - received_, 0);
    if (count == 0) {
      return 0;
    }
    if (count > 0) {
      received_ += static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      return -1;
    }
  }
  const std::size_t count = std::min(size, received_ - read_);
  std::memcpy(to, request_.data() + read_, count);
  read_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t ClientStream::write(const char* from, std::size_t size) {
  for (std::size_t sent = 0; sent < size;) {
    if (!wait_for(POLLOUT)) {
      return -1;
    }
    const ssize_t count = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

// Nothing here depends on who asks.
void ClientStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void ClientStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace rudder::metrics
