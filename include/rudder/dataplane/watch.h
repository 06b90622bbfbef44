// SPDX-License-Identifier: Apache-2.0
// The figures of a running service, from outside: `rudder top`'s core.
#pragma once

#include <filesystem>
#include <memory>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/metrics/page.h"

namespace rudder::dataplane {

/// What a service showed of itself at one moment.
struct ServiceSnapshot {
  Duration at{};  ///< on a clock of the service: for differences
  metrics::Page page;
};

/// A connection to a service's socket that watches it and can neither attach nor hold anything up. For one
/// thread. Errors name the socket.
class ServiceWatch {
 public:
  /// Nobody is waited for: kNotFound when there is no such socket or nobody listens at it. The service must
  /// run as this user or as root.
  [[nodiscard]] static Result<ServiceWatch> open(const std::filesystem::path& socket);
  ServiceWatch(ServiceWatch&& other) noexcept;
  ServiceWatch& operator=(ServiceWatch&& other) noexcept;
  ~ServiceWatch();

  /// Asks for figures; for poll(): descriptor() becomes readable when the answer begins to come. What fails
  /// is said by answer().
  void ask();
  [[nodiscard]] int descriptor() const noexcept;
  /// The answer to the one question asked. kTimeout when it doesn't come in time, kPeer when the service has
  /// gone, kInvalidData when what listens there is no service of this version.
  [[nodiscard]] Result<ServiceSnapshot> answer(Deadline deadline);

 private:
  class Impl;
  explicit ServiceWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::dataplane
