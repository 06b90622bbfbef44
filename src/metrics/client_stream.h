// SPDX-License-Identifier: Apache-2.0
// One client's connection with a deadline for all of it.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <httplib.h>

#include "rudder/core/clock.h"

namespace rudder::metrics {

/// Reads at most 4 KiB. Both directions end at the deadline, or when `stop` (a descriptor) becomes readable.
class ClientStream final : public httplib::Stream {
 public:
  /// `socket` does not block; neither descriptor is owned.
  ClientStream(int socket, int stop, Deadline deadline) : socket_(socket), stop_(stop), deadline_(deadline) {}

  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  /// Bytes, 0 at the end of what may be read, or -1.
  ssize_t read(char* to, std::size_t size) override;
  /// All bytes, or -1.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool wait_for(short events) const;

  int socket_;
  int stop_;
  Deadline deadline_;
  std::array<char, 4096> request_{};
  std::size_t received_ = 0;
  std::size_t read_ = 0;
};

}  // namespace rudder::metrics
