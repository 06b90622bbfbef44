// SPDX-License-Identifier: Apache-2.0
#include "train/address.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/text.h"

namespace rudder::train {
namespace {

struct Socket {
  explicit Socket(int descriptor) : fd(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd >= 0) {
      ::close(fd);
    }
  }
  int fd;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<Addresses> resolve(const std::string& host, std::uint16_t port, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      failed != 0) {
    return Error{Errc::kNotFound,
                 fmt::format("cannot resolve master address '{}': {}", host, ::gai_strerror(failed))};
  }
  return Addresses(found, ::freeaddrinfo);
}

// Connecting a datagram socket picks the route and with it the source address.
int source_address(const addrinfo& target, sockaddr_storage& source, socklen_t& length) {
  const Socket socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  length = sizeof source;
  void* where = &source;
  if (socket.fd < 0 || ::connect(socket.fd, target.ai_addr, target.ai_addrlen) != 0 ||
      ::getsockname(socket.fd, static_cast<sockaddr*>(where), &length) != 0) {
    return errno;
  }
  return 0;
}

/// EPROTO when the other side says something by itself, as no store does; its greeting would be taken for
/// answers.
int listen_a_moment(int fd) {
  constexpr int kMilliseconds = 20;
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&event, 1, kMilliseconds) > 0 && ::recv(fd, &byte, 1, MSG_PEEK) > 0 ? EPROTO : 0;
}

/// One attempt; 0 or an errno.
int try_connect(const addrinfo& target, Deadline deadline) {
  const Socket socket(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.fd < 0) {
    return errno;
  }
  if (::connect(socket.fd, target.ai_addr, target.ai_addrlen) == 0) {
    return listen_a_moment(socket.fd);
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  pollfd event{.fd = socket.fd, .events = POLLOUT, .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.at() - steady_clock().now());
  const int ready = ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  if (ready <= 0) {
    return ready == 0 ? ETIMEDOUT : errno;
  }
  int failed = 0;
  socklen_t length = sizeof failed;
  if (::getsockopt(socket.fd, SOL_SOCKET, SO_ERROR, &failed, &length) != 0) {
    return errno;
  }
  return failed == 0 ? listen_a_moment(socket.fd) : failed;
}

}  // namespace

Result<std::string> local_address_towards(const std::string& host, std::uint16_t port) {
  constexpr std::uint16_t kAnyPort = 9;  // the route does not depend on it, but 0 is refused
  RUDDER_ASSIGN(const Addresses found, resolve(host, port == 0 ? kAnyPort : port, SOCK_DGRAM));
  int failed = EHOSTUNREACH;
  for (const addrinfo* target = found.get(); target != nullptr; target = target->ai_next) {
    sockaddr_storage source{};
    socklen_t length = 0;
    failed = source_address(*target, source, length);
    if (failed != 0) {
      continue;
    }
    char text[NI_MAXHOST];
    const void* where = &source;
    if (::getnameinfo(static_cast<const sockaddr*>(where), length, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      return std::string(text);
    }
  }
  return Error{Errc::kIo, fmt::format("no route to master address '{}': {}", host, std::strerror(failed))};
}

Status wait_for_listener(const std::string& host, std::uint16_t port, Deadline deadline) {
  RUDDER_ASSIGN(const Addresses found, resolve(host, port, SOCK_STREAM));
  auto pause = std::chrono::milliseconds(1);
  for (;;) {
    int failed = EHOSTUNREACH;
    for (const addrinfo* target = found.get(); target != nullptr; target = target->ai_next) {
      failed = try_connect(*target, deadline);
      if (failed == 0) {
        return {};
      }
    }
    if (failed == EPROTO) {
      return Error{Errc::kPeer, fmt::format("{}:{} is not rank 0's store: it speaks first", host, port)};
    }
    if (deadline.passed()) {
      return Error{Errc::kTimeout,
                   fmt::format("{}:{} does not answer: {}", host, port, std::strerror(failed))};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

void bound_receives(std::uint16_t port, Duration limit) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
  timeval timeout{};
  timeout.tv_sec = whole.count();
  timeout.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(limit - whole).count();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const auto fd = parse_int(entry.path().filename().string());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    void* where = &peer;
    if (!fd || ::getpeername(static_cast<int>(*fd), static_cast<sockaddr*>(where), &length) != 0) {
      continue;
    }
    const void* view = &peer;
    const std::uint16_t remote = peer.ss_family == AF_INET ? static_cast<const sockaddr_in*>(view)->sin_port
                                 : peer.ss_family == AF_INET6
                                     ? static_cast<const sockaddr_in6*>(view)->sin6_port
                                     : std::uint16_t{0};
    if (remote == htons(port)) {
      ::setsockopt(static_cast<int>(*fd), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
  }
}

}  // namespace rudder::train
