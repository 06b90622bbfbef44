// SPDX-License-Identifier: Apache-2.0
// A bounded FIFO between threads, with deadlines and orderly ends.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "rudder/core/clock.h"

namespace rudder {

/// Bounded multi-producer, multi-consumer queue. close() lets consumers drain what is left and wakes
/// everybody; after it push() refuses. All functions are thread-safe; no callback runs under the lock.
template <class T>
class Ring {
 public:
  enum class Outcome : unsigned char { kDone, kClosed, kTimeout };

  explicit Ring(std::size_t capacity) : capacity_(capacity) {}

  /// Waits for room. `value` is moved from only on kDone.
  Outcome push(T& value, Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!room_.wait_until(lock, deadline.at(), [&] { return closed_ || items_.size() < capacity_; })) {
      return Outcome::kTimeout;
    }
    if (closed_) {
      return Outcome::kClosed;
    }
    items_.push_back(std::move(value));
    lock.unlock();
    filled_.notify_one();
    return Outcome::kDone;
  }

  /// Waits for an item; kClosed only once nothing is left.
  Outcome pop(T& out, Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_until(lock, deadline.at(), [&] { return closed_ || !items_.empty(); })) {
      return Outcome::kTimeout;
    }
    if (items_.empty()) {
      return Outcome::kClosed;
    }
    out = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return Outcome::kDone;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace rudder
