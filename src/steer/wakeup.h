// SPDX-License-Identifier: Apache-2.0
// Wakes a thread that waits for something to do.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

#include <semaphore.h>

#include "rudder/core/check.h"
#include "rudder/core/clock.h"

namespace rudder::steer {

/// Any thread calls, one waits. A call waits for nothing and allocates nothing; calls before the next wait
/// count as one. Whoever waits looks for work after each wait, also one that was in vain.
class Wakeup {
 public:
  Wakeup() { RUDDER_CHECK(::sem_init(&calls_, 0, 0) == 0, "a semaphore that begins at 0 can be made"); }
  ~Wakeup() { ::sem_destroy(&calls_); }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void call() noexcept {
    // What was done before the call is seen after the wait: pairs with wait()'s exchange.
    if (!called_.exchange(true, std::memory_order_acq_rel)) {
      ::sem_post(&calls_);
    }
  }
  /// Returns at a call, after `patience`, or for no reason.
  void wait(Duration patience) noexcept {
    const Duration end = (steady_clock().now() + patience).time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(end);
    const timespec until{.tv_sec = seconds.count(), .tv_nsec = (end - seconds).count()};
    static_cast<void>(::sem_clockwait(&calls_, CLOCK_MONOTONIC, &until));
    static_cast<void>(called_.exchange(false, std::memory_order_acq_rel));
  }

 private:
  sem_t calls_;
  std::atomic<bool> called_{false};
};

}  // namespace rudder::steer
