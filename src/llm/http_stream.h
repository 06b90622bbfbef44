// SPDX-License-Identifier: Apache-2.0
// One HTTP exchange's connection, held to a deadline and to sizes, on either side of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <httplib.h>

#include "rudder/core/clock.h"

#include "llm/wait_for.h"

namespace rudder::llm {

class TlsConnection;

class HttpStream final : public httplib::Stream {
 public:
  /// Why nothing more can be read or written.
  enum class End : std::uint8_t { kOpen, kDeadline, kStopped, kClosed, kBroken, kTooMuch };
  struct Options {
    int socket = -1;       ///< does not block; not owned
    int stop = -1;         ///< everything ends when this descriptor becomes readable; not owned
    TimePoint deadline{};  ///< of all
    Duration
        write_time{};  ///< not zero: a server's; each write may last so long, and `deadline` is for reads
    std::size_t most_bytes = 0;    ///< that are read
    TlsConnection* tls = nullptr;  ///< over the socket; not owned
  };
  explicit HttpStream(const Options& options) : options_(options) {}

  [[nodiscard]] End end() const noexcept { return end_; }

  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  /// Bytes, 0 when the other side has closed, or -1.
  ssize_t read(char* to, std::size_t size) override;
  /// All bytes, or -1.
  ssize_t write(const char* from, std::size_t size) override;
  /// The port is the socket's descriptor: handlers of a server find their connection by it.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return options_.socket; }

 private:
  [[nodiscard]] bool wait(short events, TimePoint until);
  [[nodiscard]] bool fill();
  [[nodiscard]] ssize_t transfer(char* to, const char* from, std::size_t size, short& wanted);
  [[nodiscard]] bool fits(const char* bytes, std::size_t size);

  Options options_;
  End end_ = End::kOpen;
  std::array<char, 16384> buffer_;
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;
  std::size_t total_ = 0;
  std::size_t line_ = 0;   ///< bytes of the line at hand
  std::size_t lines_ = 0;  ///< bytes of all lines
};

}  // namespace rudder::llm
