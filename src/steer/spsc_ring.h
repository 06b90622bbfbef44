// SPDX-License-Identifier: Apache-2.0
// Hands values from one thread to another without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "rudder/core/check.h"

namespace rudder::steer {

/// Bounded. One thread pushes, one pops; neither waits for the other, and neither allocates. O(1).
template <class Value>
class SpscRing {
 public:
  /// `capacity`: values that wait, at least 1.
  explicit SpscRing(std::size_t capacity) : cells_(capacity) {
    RUDDER_CHECK(capacity > 0, "a ring of no cells");
  }

  /// False when it is full; `value` is then as it was.
  [[nodiscard]] bool push(Value& value) noexcept {
    const std::size_t end = pushed_.load(std::memory_order_relaxed);  // this thread's own
    // Sees that the cell was emptied: pairs with pop()'s release.
    if (end - popped_.load(std::memory_order_acquire) == cells_.size()) {
      return false;
    }
    cells_[end % cells_.size()] = std::move(value);
    pushed_.store(end + 1, std::memory_order_release);  // pairs with pop()'s acquire
    return true;
  }
  /// False when it is empty.
  [[nodiscard]] bool pop(Value& value) noexcept {
    const std::size_t begin = popped_.load(std::memory_order_relaxed);  // this thread's own
    if (pushed_.load(std::memory_order_acquire) == begin) {
      return false;
    }
    value = std::move(cells_[begin % cells_.size()]);
    popped_.store(begin + 1, std::memory_order_release);
    return true;
  }
  /// Values that wait, for any thread; may be old at once.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t begin = popped_.load(std::memory_order_acquire);
    return pushed_.load(std::memory_order_acquire) - begin;
  }

 private:
  std::vector<Value> cells_;
  alignas(64) std::atomic<std::size_t> pushed_{0};
  alignas(64) std::atomic<std::size_t> popped_{0};
};

}  // namespace rudder::steer
