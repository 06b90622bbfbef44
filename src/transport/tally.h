// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rudder/transport/transport.h"

namespace rudder::transport {

/// TransportCounters that several threads add to. Relaxed: the counts publish nothing but themselves, and who
/// needs exact totals synchronises through flush() and received().
class Tally {
 public:
  void sent(std::size_t bytes) {
    sent_messages_.fetch_add(1, std::memory_order_relaxed);
    sent_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void received(std::size_t bytes) {
    received_messages_.fetch_add(1, std::memory_order_relaxed);
    received_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] TransportCounters read() const {
    return {sent_messages_.load(std::memory_order_relaxed), sent_bytes_.load(std::memory_order_relaxed),
            received_messages_.load(std::memory_order_relaxed),
            received_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> sent_messages_{0};
  std::atomic<std::uint64_t> sent_bytes_{0};
  std::atomic<std::uint64_t> received_messages_{0};
  std::atomic<std::uint64_t> received_bytes_{0};
};

}  // namespace rudder::transport
