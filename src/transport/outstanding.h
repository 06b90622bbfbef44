// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

#include "transport/rank_list.h"

namespace rudder::transport {

/// Messages that have been queued and whose bodies are not back yet. Thread-safe.
class Outstanding {
 public:
  void add(Rank to) {
    const std::lock_guard lock(mutex_);
    ++counts_[to];
    ++sum_;
  }

  void remove(Rank to) {
    bool none = false;
    {
      const std::lock_guard lock(mutex_);
      --counts_[to];
      none = --sum_ == 0;
    }
    if (none) {
      none_.notify_all();
    }
  }

  /// Waits until there are none; a timeout names their receivers.
  [[nodiscard]] Status wait(const std::string& who, Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (none_.wait_until(lock, deadline.at(), [&] { return sum_ == 0; })) {
      return {};
    }
    std::vector<Rank> slow;
    for (const auto& [rank, count] : counts_) {
      if (count != 0) {
        slow.push_back(rank);
      }
    }
    return Error{Errc::kTimeout,
                 fmt::format("{}: flush: {} messages not taken by {} in time", who, sum_, rank_list(slow))};
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::map<Rank, std::size_t> counts_;
  std::size_t sum_ = 0;
};

}  // namespace rudder::transport
