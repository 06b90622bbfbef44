// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "rudder/core/clock.h"

namespace rudder::transport {

/// Items that become available at given times, the earliest first, in order of push where times are equal.
/// Thread-safe, for one consumer.
template <class T>
class TimedQueue {
 public:
  /// Drops the item once closed.
  void push(TimePoint due, T item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) {
        return;
      }
      items_.emplace(due, std::move(item));
    }
    changed_.notify_one();
  }

  /// Waits for the next item that is due; nothing once closed.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (closed_) {
        return std::nullopt;
      }
      if (items_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto first = items_.begin();
      if (steady_clock().now() >= first->first) {
        std::optional<T> item(std::move(first->second));
        items_.erase(first);
        return item;
      }
      const TimePoint due = first->first;
      changed_.wait_until(lock, due);
    }
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<TimePoint, T> items_;
  bool closed_ = false;
};

}  // namespace rudder::transport
