// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/transport/transport.h"

#include "dataplane/handshake.h"

namespace rudder::dataplane {

/// The way out for frames: the transport beneath, with the receiver's seal behind each header. Counts answers
/// that a peer is owed, so that one that asks and asks and takes no answer cannot fill the memory.
class SealedTransport final : public transport::Transport {
 public:
  /// Answers that one peer is owed at most; honest ones have up to 64 credits for rows and 16 for
  /// neighbours, and pings now and then.
  static constexpr std::uint32_t kMaxOwed = 256;

  SealedTransport(transport::Transport& beneath, const Handshake& handshake, Rank world)
      : owed_(world), beneath_(beneath), handshake_(handshake) {}

  /// Takes a request of `peer` on, whose answer send() will carry; false when it is owed too many already.
  [[nodiscard]] bool owe(Rank peer) {
    // Requests come on one thread, so the count cannot pass the limit between the two steps; answers only
    // lower it. It guards no other memory: relaxed.
    if (owed_[peer].load(std::memory_order_relaxed) >= kMaxOwed) {
      return false;
    }
    owed_[peer].fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  std::string name() const override { return beneath_.name(); }
  std::string address() const override { return beneath_.address(); }
  Status start(transport::Receiver& receiver) override { return beneath_.start(receiver); }
  Status connect(std::span<const std::string> addresses, Deadline deadline) override {
    return beneath_.connect(addresses, deadline);
  }
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            std::function<void(AlignedBytes)> recycle) override {
    RUDDER_CHECK(header.size() == kFrameHeaderBytes, "frame headers have one size");
    if (is_answer(static_cast<FrameType>(header.front()))) {
      recycle = [this, to, give_back = std::move(recycle)](AlignedBytes block) {
        owed_[to].fetch_sub(1, std::memory_order_relaxed);
        if (give_back) {
          give_back(std::move(block));
        }
      };
    }
    const Seal seal = handshake_.seal_for(to);
    std::array<std::byte, kSealedHeaderBytes> sealed{};
    std::copy(seal.begin(), seal.end(), std::copy(header.begin(), header.end(), sealed.begin()));
    beneath_.send(to, sealed, std::move(body), body_bytes, std::move(recycle));
  }
  Status flush(Deadline deadline) override { return beneath_.flush(deadline); }
  transport::TransportCounters counters() const override { return beneath_.counters(); }

 private:
  static bool is_answer(FrameType type) {
    return type == FrameType::kRows || type == FrameType::kRefused || type == FrameType::kPong ||
           type == FrameType::kDrawn || type == FrameType::kAskRefused;
  }

  std::vector<std::atomic<std::uint32_t>> owed_;  ///< by rank: requests whose answers have not left
  transport::Transport& beneath_;
  const Handshake& handshake_;
};

}  // namespace rudder::dataplane
