// SPDX-License-Identifier: Apache-2.0
// A server that does to its clients what a test says.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/check.h"

namespace rudder::llm {

/// One client's connection, on the server's side.
class ServedClient {
 public:
  ServedClient(int fd, const std::atomic<bool>& ending) : fd_(fd), ending_(ending) {}

  /// Head and body of the request; what has come when the client stops short.
  std::string hear() {
    std::string all;
    std::array<char, 4096> chunk;
    for (;;) {
      const std::size_t head = all.find("\r\n\r\n");
      if (head != all.npos) {
        const std::size_t at = all.find("Content-Length: ");
        const std::size_t size = at != all.npos ? std::stoul(all.substr(at + 16)) : 0;
        if (all.size() >= head + 4 + size) {
          return all;
        }
      }
      const ssize_t n = wait() ? ::recv(fd_, chunk.data(), chunk.size(), 0) : 0;
      if (n <= 0) {
        return all;
      }
      all.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }
  /// False when the client has gone.
  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool say_reply(int status, std::string_view body) {
    return say(fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                           status, body.size(), body));
  }
  /// Until the client leaves or the test ends.
  void hang() {
    std::array<char, 4096> chunk;
    while (wait() && ::recv(fd_, chunk.data(), chunk.size(), 0) > 0) {
    }
  }
  [[nodiscard]] bool ending() const { return ending_.load(); }
  [[nodiscard]] int descriptor() const { return fd_; }

 private:
  /// For something to read; false at the end of the test.
  [[nodiscard]] bool wait() const {
    pollfd wanted{fd_, POLLIN, 0};
    while (!ending_.load()) {
      if (::poll(&wanted, 1, 20) > 0) {
        return true;
      }
    }
    return false;
  }

  int fd_;
  const std::atomic<bool>& ending_;
};

class ScriptedServer {
 public:
  /// `script` gets each connection on a thread of its own, with its number from 0.
  using Script = std::function<void(ServedClient&, std::size_t)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    RUDDER_CHECK(::bind(listening_, generic, size) == 0 && ::listen(listening_, 16) == 0 &&
                     ::getsockname(listening_, generic, &size) == 0,
                 "a port of this host");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    ending_.store(true);
    thread_.join();
    for (std::thread& served : served_) {
      served.join();
    }
    ::close(listening_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }

 private:
  void run() {
    pollfd wanted{listening_, POLLIN, 0};
    for (std::size_t number = 0; !ending_.load();) {
      if (::poll(&wanted, 1, 20) <= 0) {
        continue;
      }
      const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) {
        continue;
      }
      served_.emplace_back([this, fd, number] {
        ServedClient client(fd, ending_);
        script_(client, number);
        ::shutdown(fd, SHUT_WR);
        client.hang();
        ::close(fd);
      });
      ++number;
    }
  }

  Script script_;
  int listening_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ending_{false};
  std::list<std::thread> served_;
  std::thread thread_;
};

/// The smallest reply that is one.
inline std::string good_reply(std::string_view text) {
  return fmt::format(R"({{"choices":[{{"message":{{"role":"assistant","content":"{}"}}}}]}})", text);
}

}  // namespace rudder::llm
