// SPDX-License-Identifier: Apache-2.0
// How ranks find each other before they are connected.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::transport {

/// A key-value store that all ranks of a run reach. Thread-safe.
class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  [[nodiscard]] virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Waits for the key; a timeout names it.
  [[nodiscard]] virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
};

/// One store for all ranks of this process.
[[nodiscard]] std::shared_ptr<Rendezvous> make_local_rendezvous();

/// Puts `mine` under "PREFIX/RANK" and collects everybody's, in rank order. A timeout names the missing
/// ranks.
[[nodiscard]] Result<std::vector<std::string>> exchange(Rendezvous& rendezvous, std::string_view prefix,
                                                        Rank rank, Rank world, std::string_view mine,
                                                        Deadline deadline);

}  // namespace rudder::transport
