// SPDX-License-Identifier: Apache-2.0
// Whether all peers know the run's secret and work on the same cut of the same graph.
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
#include "rudder/core/secret.h"
#include "rudder/dataplane/wire.h"

#include "dataplane/peer_names.h"

namespace rudder::dataplane {

/// Each side sends a hello with a fresh challenge; each answers the other's with a proof of the secret, which
/// is computed from both hellos, in this direction: neither an old proof nor one's own sent back will do.
/// Collects one verdict a peer: the first of agreement with proof, disagreement, a wrong proof, a foreign
/// frame, loss. wait(), seal_for() and open() are any thread's, all else the progress thread's.
class Handshake {
 public:
  Handshake(Hello mine, const Secret& secret, PeerNames& names);

  /// The body of this rank's hello, whose header is kHelloMagic.
  [[nodiscard]] const std::vector<std::byte>& hello() const noexcept { return hello_; }
  [[nodiscard]] static bool is_hello(std::span<const std::byte> header) noexcept;
  /// The body of a hello from `from`, of which the first counts. Returns the header of the proof to send
  /// back, when one is due.
  [[nodiscard]] std::optional<std::vector<std::byte>> heard(Rank from, std::span<const std::byte> body);
  /// A proof from `from`; waits for the hello when it has overtaken it.
  void heard_proof(Rank from, const Seal& proof);
  /// A frame that no version of this protocol sends.
  void heard_foreign(Rank from, const Error& error);
  void lost(Rank peer, const Error& error);

  /// What stands behind the headers of frames to `peer`; before its hello has come, nothing that it takes.
  [[nodiscard]] Seal seal_for(Rank peer) const;
  /// The frame header in front of the seal; nothing unless `from` has agreed and proven the secret and the
  /// seal is its own.
  [[nodiscard]] std::optional<std::span<const std::byte>> open(Rank from,
                                                               std::span<const std::byte> sealed) const;
  /// Waits for a verdict on every peer, or for one disagreement, which comes before losses. A timeout names
  /// the silent ranks.
  [[nodiscard]] Status wait(Deadline deadline);

 private:
  struct Peer {
    std::optional<Status> verdict;
    bool lost = false;
    bool heard = false;         ///< its hello has come; the seals below are right
    Seal seal_in{};             ///< of its frames
    Seal seal_out{};            ///< of frames to it
    std::optional<Seal> early;  ///< a proof that came before the hello
  };

  [[nodiscard]] Status judge(Rank from, std::span<const std::byte> body);
  void settle(Rank peer, Status verdict, bool lost);
  [[nodiscard]] std::optional<Error> first_error() const;
  [[nodiscard]] std::string missing() const;

  Hello mine_;
  const std::vector<std::byte> hello_;
  const Secret secret_;
  PeerNames& names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> peers_;
};

}  // namespace rudder::dataplane
