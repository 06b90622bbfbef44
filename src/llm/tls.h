// SPDX-License-Identifier: Apache-2.0
// TLS over a socket that does not block.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/ssl.h>
#include <sys/types.h>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::llm {

class TlsConnection {
 public:
  /// Shakes hands over `socket` until the deadline or until `stop` becomes readable. The server must have a
  /// certificate for `host` that the system's authorities vouch for. Errors: kTimeout, kCancelled, kPeer.
  [[nodiscard]] static Result<TlsConnection> connect(int socket, const std::string& host, TimePoint deadline,
                                                     int stop);

  /// Reads to `to` if it is not null, else writes from `from`. Bytes; 0 at the end of the stream; -1 with the
  /// poll() event that must come first in `wanted`, or with 0 there when the connection is broken.
  [[nodiscard]] ssize_t transfer(char* to, const char* from, std::size_t size, short& wanted);

 private:
  struct Deleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* connection) const { SSL_free(connection); }
  };
  std::unique_ptr<SSL_CTX, Deleter> context_;
  std::unique_ptr<SSL, Deleter> connection_;
};

}  // namespace rudder::llm
