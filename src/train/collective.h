// SPDX-License-Identifier: Apache-2.0
// Sums, maxima and barriers over the trainers of a run, and the store by which they find each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/train/options.h"
#include "rudder/transport/rendezvous.h"

namespace rudder::train {

/// Collective calls of one rank. All ranks must make the same calls in the same order with equal lengths. The
/// order of additions depends on the world size and the length alone, and every rank gets the same bits. One
/// thread uses an object at a time. After an error only destruction is allowed; it breaks the connections, so
/// that the other ranks' calls fail too.
class Collective {
 public:
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual Rank world() const = 0;

  /// Starts summing `values` over all ranks in place; they must stay valid until finish_sums().
  [[nodiscard]] virtual Status start_sum(std::span<float> values) = 0;
  /// Waits for every started sum.
  [[nodiscard]] virtual Status finish_sums() = 0;

  [[nodiscard]] virtual Status sum(std::span<double> values) = 0;
  [[nodiscard]] virtual Status sum(std::span<std::uint64_t> values) = 0;
  [[nodiscard]] virtual Status max(std::span<std::uint64_t> values) = 0;
  /// Returns after every rank has called it.
  [[nodiscard]] virtual Status barrier() = 0;

  /// Asked whenever a call has waited for another `deadline`: whether the peers are still there. An error
  /// ends the call with it; without a check the first deadline does, and at the latest kMostDeadlines of them
  /// do.
  virtual void set_peer_check(std::function<Status()> check) = 0;
  static constexpr int kMostDeadlines = 60;
};

/// c10d's Gloo back-end: one connection to every peer, from GLOO_SOCKET_IFNAME's address when it is set, else
/// from the local address that reaches the master. Connecting ends within `deadline`; for later calls see
/// set_peer_check. With world 1 there is no network and `rendezvous` is not used.
[[nodiscard]] Result<std::unique_ptr<Collective>> make_collective(const RankInfo& who,
                                                                  transport::Rendezvous& rendezvous,
                                                                  Duration deadline);

/// c10d's TCP store: rank 0 listens on master_port (an error names address and port when it is taken), the
/// others connect, for at most `deadline`. Rank 0's object must outlive the other ranks' use of theirs.
[[nodiscard]] Result<std::shared_ptr<transport::Rendezvous>> make_tcp_rendezvous(const RankInfo& who,
                                                                                 Duration deadline);

}  // namespace rudder::train
