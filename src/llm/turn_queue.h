// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>

namespace rudder::llm {

/// Jobs take turns: each has a bounded queue of its own, and the next item is the oldest of the job whose
/// turn was longest ago. A job that asks often waits for itself, not others for it. O(jobs that wait) a call.
/// Not thread-safe.
template <class Item>
class TurnQueue {
 public:
  explicit TurnQueue(std::size_t most_of_a_job) : most_(most_of_a_job) {}

  /// False when the job's queue is full.
  [[nodiscard]] bool push(const std::string& job, Item item) {
    auto turn = std::ranges::find(turns_, job, &Turn::job);
    if (turn == turns_.end()) {
      turn = turns_.insert(turns_.end(), Turn{job, {}});
    }
    if (turn->items.size() >= most_) {
      return false;
    }
    turn->items.push_back(std::move(item));
    return true;
  }

  [[nodiscard]] std::optional<Item> next() {
    if (turns_.empty()) {
      return std::nullopt;
    }
    Turn& turn = turns_.front();
    std::optional<Item> item = std::move(turn.items.front());
    turn.items.pop_front();
    if (turn.items.empty()) {
      turns_.pop_front();
    } else {
      turns_.splice(turns_.end(), turns_, turns_.begin());
    }
    return item;
  }

  /// False when it is not there (any more).
  bool remove(const std::string& job, const Item& item) {
    const auto turn = std::ranges::find(turns_, job, &Turn::job);
    if (turn == turns_.end() || std::erase(turn->items, item) == 0) {
      return false;
    }
    if (turn->items.empty()) {
      turns_.erase(turn);
    }
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const Turn& turn : turns_) {
      sum += turn.items.size();
    }
    return sum;
  }

 private:
  struct Turn {
    std::string job;
    std::deque<Item> items;  ///< never empty between calls, unless nothing may wait
  };
  std::size_t most_;
  std::list<Turn> turns_;  ///< the next one first
};

}  // namespace rudder::llm
