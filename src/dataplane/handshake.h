// SPDX-License-Identifier: Apache-2.0
// Whether all peers work on the same cut of the same graph.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/wire.h"

#include "dataplane/peer_names.h"

namespace rudder::dataplane {

/// Collects one verdict a peer: the first of agreement, disagreement, a foreign frame, loss. wait() is any
/// thread's, all else the progress thread's.
class Handshake {
 public:
  Handshake(Hello mine, PeerNames& names);

  [[nodiscard]] const Hello& mine() const noexcept { return mine_; }
  [[nodiscard]] static bool is_hello(std::span<const std::byte> header) noexcept;
  /// The body of a hello from `from`.
  void heard(Rank from, std::span<const std::byte> body);
  /// A frame that no version of this protocol sends.
  void heard_foreign(Rank from, const Error& error);
  void lost(Rank peer, const Error& error);
  /// True once `peer` has said that it agrees.
  [[nodiscard]] bool agrees(Rank peer) const;
  /// Waits for a verdict on every peer, or for one disagreement, which comes before losses. A timeout names
  /// the silent ranks.
  [[nodiscard]] Status wait(Deadline deadline);

 private:
  [[nodiscard]] Status judge(Rank from, std::span<const std::byte> body);
  void settle(Rank peer, Status verdict, bool lost);
  [[nodiscard]] std::optional<Error> first_error() const;

  struct Verdict {
    std::optional<Status> status;
    bool lost = false;
  };

  const Hello mine_;
  PeerNames& names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Verdict> verdicts_;
};

}  // namespace rudder::dataplane
