// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/window_ring.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "rudder/core/check.h"

namespace rudder::steer {

WindowRing::WindowRing(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)), cells_(std::make_unique<Cell[]>(capacity_ + 2)) {
  RUDDER_CHECK(::sem_init(&arrivals_, 0, 0) == 0, "a semaphore that begins at 0 can be made");
}

WindowRing::~WindowRing() {
  ::sem_destroy(&arrivals_);
}

WindowRing::Oldest WindowRing::find_oldest() noexcept {
  Oldest oldest;
  for (std::size_t i = 0; i < capacity_ + 2; ++i) {
    const std::uint64_t stamp = cells_[i].stamp.load(std::memory_order_acquire);
    if (stamp >= kFirst) {
      ++oldest.full;
      if (oldest.cell == nullptr || stamp < oldest.stamp) {
        oldest.cell = &cells_[i];
        oldest.stamp = stamp;
      }
    }
  }
  return oldest;
}

void WindowRing::push(const Window& window) noexcept {
  // At most `capacity` cells are full and one is read, so one at least is free. Acquire: the taker's reading
  // of it is over.
  Cell* cell = cells_.get();
  while (cell->stamp.load(std::memory_order_acquire) != kFree) {
    ++cell;
  }
  cell->window = window;
  cell->stamp.store(kFirst + pushed_++, std::memory_order_release);  // for take()
  if (Oldest oldest = find_oldest();
      oldest.full > capacity_ &&
      oldest.cell->stamp.compare_exchange_strong(oldest.stamp, kFree, std::memory_order_relaxed)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  ::sem_post(&arrivals_);
}

bool WindowRing::take(Window& window) noexcept {
  for (Oldest oldest = find_oldest(), again; oldest.cell != nullptr; oldest = again) {
    // What was pushed behind a look's back may be older than what the look then found. A second look misses
    // nothing older than that.
    again = find_oldest();
    // Acquire: the pusher's writing of it is over.
    if (again.stamp == oldest.stamp &&
        oldest.cell->stamp.compare_exchange_strong(oldest.stamp, kRead, std::memory_order_acquire)) {
      window = oldest.cell->window;
      oldest.cell->stamp.store(kFree, std::memory_order_release);  // for push()
      return true;
    }
  }
  return false;
}

bool WindowRing::wait(Window& window, Duration patience) noexcept {
  constexpr Duration kForever = std::chrono::hours(24 * 365);  // so that the sum below is a time
  const auto end =
      (steady_clock().now() + std::clamp(patience, Duration::zero(), kForever)).time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end);
  const timespec until{.tv_sec = seconds.count(), .tv_nsec = (end - seconds).count()};
  while (!stopped_.load(std::memory_order_acquire)) {
    if (take(window)) {
      return true;
    }
    // Counts pushes, also of windows that were dropped or taken since: then the loop goes round once more.
    if (::sem_clockwait(&arrivals_, CLOCK_MONOTONIC, &until) != 0 && errno != EINTR) {
      return false;
    }
  }
  return false;
}

void WindowRing::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  ::sem_post(&arrivals_);
}

}  // namespace rudder::steer
