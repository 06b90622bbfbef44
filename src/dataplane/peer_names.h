// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/ids.h"

namespace rudder::dataplane {

/// What ranks are called in messages. Thread-safe.
class PeerNames {
 public:
  explicit PeerNames(Rank world) : hosts_(world) {}

  void set_host(Rank rank, std::string host) {
    const std::lock_guard lock(mutex_);
    hosts_[rank] = std::move(host);
  }
  /// "rank 2 (host b)", or "rank 2" while the host isn't known.
  [[nodiscard]] std::string of(Rank rank) const {
    const std::lock_guard lock(mutex_);
    return hosts_[rank].empty() ? fmt::format("rank {}", rank)
                                : fmt::format("rank {} (host {})", rank, hosts_[rank]);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> hosts_;
};

}  // namespace rudder::dataplane
