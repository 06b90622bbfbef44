// SPDX-License-Identifier: Apache-2.0
// Connections to model servers: names, addresses, sockets. Every wait has an end.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/endpoint.h"

#include "dataplane/local_socket.h"

namespace rudder::llm {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// Connects to one endpoint again and again. Thread-safe.
class Connector {
 public:
  explicit Connector(Endpoint endpoint);
  /// A name server that does not answer can hold this up, for as long as the system's resolver tries.
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  /// A socket that does not block. The host's addresses are looked up when none are known that worked.
  /// Errors: kPeer (nobody there, no such name), kTimeout, kCancelled (`stop` became readable).
  [[nodiscard]] Result<dataplane::Descriptor> connect(TimePoint deadline, int stop);

 private:
  struct Lookup;
  [[nodiscard]] Result<std::vector<SocketAddress>> look_up(TimePoint deadline, int stop);
  [[nodiscard]] Result<std::vector<SocketAddress>> ask_resolver(TimePoint deadline, int stop);
  [[nodiscard]] Result<dataplane::Descriptor> connect_local();

  Endpoint endpoint_;
  std::mutex mutex_;
  std::vector<SocketAddress> addresses_;     ///< of the last look-up; empty after a failure
  std::list<std::unique_ptr<Lookup>> late_;  ///< look-ups that outlasted their callers
};

}  // namespace rudder::llm
