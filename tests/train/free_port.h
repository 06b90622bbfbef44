// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rudder::train::testing_support {

/// A listening socket on a port that the system chose; the port is free again once it is closed.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof address;
    void* where = &address;
    EXPECT_EQ(::bind(fd_, static_cast<sockaddr*>(where), length), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    EXPECT_EQ(::getsockname(fd_, static_cast<sockaddr*>(where), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

/// A port that nobody has bound now, below those that the system gives to whoever asks for any: tests that
/// run beside this one do not take it by chance.
inline std::uint16_t free_port() {
  std::random_device entropy;
  std::uniform_int_distribution<int> ports(15000, 32767);
  for (;;) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<std::uint16_t>(ports(entropy)));
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const bool bound = ::bind(fd, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof address) == 0;
    ::close(fd);
    if (bound) {
      return ntohs(address.sin_port);
    }
  }
}

}  // namespace rudder::train::testing_support
