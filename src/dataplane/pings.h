// SPDX-License-Identifier: Apache-2.0
// Which peers are there.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/wire.h"
#include "rudder/transport/transport.h"

#include "dataplane/peer_names.h"
#include "dataplane/request_window.h"

namespace rudder::dataplane {

/// Sends pings, answers them, and knows who answered. Thread-safe.
class Pings {
 public:
  /// `window` knows which peers have failed. All references outlive the pings.
  Pings(const PlaneOptions& options, const PeerNames& names, const RequestWindow& window,
        transport::Transport& transport);

  /// Peers known to have failed, or that do not answer a ping within `patience`, in words.
  [[nodiscard]] std::vector<std::string> find_failed_peers(Duration patience);
  void answer(Rank from, const FrameHeader& ping) { send(from, FrameType::kPong, ping.request); }
  /// A pong came. One that was never asked for counts for no later ping.
  void heard(Rank from, const FrameHeader& pong);
  /// The window has heard of a failure.
  void peer_failed();

 private:
  void send(Rank to, FrameType type, std::uint64_t number);

  const PlaneOptions& options_;
  const PeerNames& names_;
  const RequestWindow& window_;
  transport::Transport& transport_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> last_answered_;  ///< by rank: number of the last ping answered
  std::uint64_t last_sent_ = 0;
};

}  // namespace rudder::dataplane
