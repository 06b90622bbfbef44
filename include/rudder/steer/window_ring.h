// SPDX-License-Identifier: Apache-2.0
// Hands finished windows from the trainer's thread to the one that steers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <semaphore.h>

#include "rudder/core/clock.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// Bounded; when it is full the oldest window is dropped and counted. One thread pushes, one takes; stop() is
/// anybody's. Pushing never waits, not even for a taker that was preempted half-way, and allocates nothing.
class WindowRing {
 public:
  /// `capacity`: windows that wait, at least 1.
  explicit WindowRing(std::size_t capacity);
  ~WindowRing();
  WindowRing(const WindowRing&) = delete;
  WindowRing& operator=(const WindowRing&) = delete;

  /// O(capacity).
  void push(const Window& window) noexcept;
  /// The oldest window that waits, into `window`; false when none does.
  [[nodiscard]] bool take(Window& window) noexcept;
  /// The same, but waits for one; false when none came within `patience`, or after stop().
  [[nodiscard]] bool wait(Window& window, Duration patience) noexcept;
  /// Ends wait(), now and later.
  void stop() noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  /// A free cell is the pusher's, one that is read the taker's; a full one is whose exchange of its stamp
  /// succeeds.
  static constexpr std::uint64_t kFree = 0, kRead = 1, kFirst = 2;
  struct Cell {
    std::atomic<std::uint64_t> stamp{kFree};  ///< kFree, kRead, or of a full one kFirst + the window's number
    Window window;
  };
  struct Oldest {
    Cell* cell = nullptr;  ///< null: none is full
    std::uint64_t stamp = 0;
    std::size_t full = 0;  ///< cells
  };
  [[nodiscard]] Oldest find_oldest() noexcept;

  std::size_t capacity_;
  std::unique_ptr<Cell[]> cells_;  ///< capacity + 2: one more that is read, one more that is written
  std::uint64_t pushed_ = 0;       ///< the pusher's
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> stopped_{false};
  sem_t arrivals_;
};

}  // namespace rudder::steer
