// SPDX-License-Identifier: Apache-2.0
// The figures of a registry over HTTP, for Prometheus and for people.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/metrics/registry.h"

namespace rudder::metrics {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: a free one
};

/// "9400", "0.0.0.0:9400", "[::1]:9400".
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

/// Answers GET /metrics with Registry::text(). One thread, one connection at a time, one request a
/// connection; each has a second for all of it and 4 KiB for the request, so clients that are slow, silent or
/// many delay each other's answers and nothing else. No more than a handful of descriptors and pages of
/// memory.
class Exporter {
 public:
  /// `registry` must outlive it. An address that is in use or not this machine's is an error that names it.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> start(const Registry& registry,
                                                               const Endpoint& endpoint);
  /// Ends a request at hand and joins the thread, at once.
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// "http://127.0.0.1:9400/metrics".
  [[nodiscard]] const std::string& url() const noexcept;

 private:
  class Impl;
  explicit Exporter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::metrics
