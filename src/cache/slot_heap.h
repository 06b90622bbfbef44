// SPDX-License-Identifier: Apache-2.0
// A priority queue of slots that any slot can leave, without allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::cache {

/// Binary heap of slots by the worth of their rows, least worth on top: lowest score, then highest row id.
/// insert() and erase() are O(log n), top() O(1). Capacity is fixed.
class SlotHeap {
 public:
  struct Entry {
    double score = 0;
    NodeId row = kNoNode;
    SlotId slot = kNoSlot;
  };

  explicit SlotHeap(SlotId capacity) : place_(capacity, kNoSlot) { entries_.reserve(capacity); }

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& top() const { return entries_.front(); }

  /// The slot must be absent.
  void insert(const Entry& entry) {
    entries_.push_back(entry);
    rise(entries_.size() - 1);
  }
  /// The slot must be present.
  void erase(SlotId slot) {
    const std::size_t at = std::exchange(place_[slot], kNoSlot);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at < entries_.size()) {
      entries_[at] = last;
      place_[last.slot] = static_cast<SlotId>(at);
      rise(at);
      sink(place_[last.slot]);
    }
  }

 private:
  static bool worth_less(const Entry& a, const Entry& b) {
    return a.score != b.score ? a.score < b.score : a.row > b.row;
  }
  void set(std::size_t at, const Entry& entry) {
    entries_[at] = entry;
    place_[entry.slot] = static_cast<SlotId>(at);
  }
  void rise(std::size_t at) {
    const Entry entry = entries_[at];
    while (at > 0 && worth_less(entry, entries_[(at - 1) / 2])) {
      set(at, entries_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    set(at, entry);
  }
  void sink(std::size_t at) {
    const Entry entry = entries_[at];
    for (std::size_t child = 2 * at + 1; child < entries_.size(); child = 2 * at + 1) {
      if (child + 1 < entries_.size() && worth_less(entries_[child + 1], entries_[child])) {
        ++child;
      }
      if (!worth_less(entries_[child], entry)) {
        break;
      }
      set(at, entries_[child]);
      at = child;
    }
    set(at, entry);
  }

  std::vector<Entry> entries_;
  std::vector<SlotId> place_;  ///< by slot: position in entries_, or kNoSlot
};

}  // namespace rudder::cache
