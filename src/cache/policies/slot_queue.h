// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "rudder/core/ids.h"

namespace rudder::cache {

/// Next-pointers by slot, shared by all queues of one policy: a slot is in one queue at a time.
using SlotLinks = std::vector<SlotId>;

/// A first-in-first-out queue of slots. O(1) each.
class SlotQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] SlotId size() const noexcept { return size_; }

  void push(SlotLinks& links, SlotId slot) {
    links[slot] = kNoSlot;
    (size_ == 0 ? oldest_ : links[newest_]) = slot;
    newest_ = slot;
    ++size_;
  }
  /// The queue is not empty.
  SlotId pop(const SlotLinks& links) {
    const SlotId slot = oldest_;
    oldest_ = links[slot];
    --size_;
    return slot;
  }

 private:
  SlotId oldest_ = kNoSlot;
  SlotId newest_ = kNoSlot;
  SlotId size_ = 0;
};

}  // namespace rudder::cache
