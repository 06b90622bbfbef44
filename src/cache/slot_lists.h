// SPDX-License-Identifier: Apache-2.0
// Doubly linked lists of slots without allocation: the queues of LRU, LFU, SIEVE and of look-ahead's next
// uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::cache {

/// `lists` lists over slots 0 … capacity - 1, each slot in at most one list. All operations O(1). A list is a
/// ring closed by a sentinel at capacity + list, so removal needs no list and no branch.
class SlotLists {
 public:
  SlotLists(SlotId capacity, std::uint32_t lists)
      : capacity_(capacity), links_(std::size_t{capacity} + lists) {
    for (std::size_t i = capacity; i < links_.size(); ++i) {
      links_[i] = {narrow<SlotId>(i), narrow<SlotId>(i)};
    }
  }

  [[nodiscard]] bool empty(std::uint32_t list) const { return links_[sentinel(list)].next == sentinel(list); }
  /// kNoSlot when empty.
  [[nodiscard]] SlotId front(std::uint32_t list) const { return slot_or_none(links_[sentinel(list)].next); }
  [[nodiscard]] SlotId back(std::uint32_t list) const {
    return slot_or_none(links_[sentinel(list)].previous);
  }
  /// The neighbour towards the front (back) of the slot's list, or kNoSlot at its end.
  [[nodiscard]] SlotId before(SlotId slot) const { return slot_or_none(links_[slot].previous); }
  [[nodiscard]] SlotId after(SlotId slot) const { return slot_or_none(links_[slot].next); }

  void push_front(std::uint32_t list, SlotId slot) {
    link(sentinel(list), slot, links_[sentinel(list)].next);
  }
  void push_back(std::uint32_t list, SlotId slot) {
    link(links_[sentinel(list)].previous, slot, sentinel(list));
  }
  /// `slot` must be in a list.
  void remove(SlotId slot) {
    const Link at = links_[slot];
    links_[at.previous].next = at.next;
    links_[at.next].previous = at.previous;
  }
  /// Appends all of `from` to `to`, in order; `from` is empty then.
  void append(std::uint32_t to, std::uint32_t from) {
    if (empty(from)) {
      return;
    }
    const SlotId last = links_[sentinel(to)].previous;
    const Link moved = links_[sentinel(from)];
    links_[last].next = moved.next;
    links_[moved.next].previous = last;
    links_[moved.previous].next = sentinel(to);
    links_[sentinel(to)].previous = moved.previous;
    links_[sentinel(from)] = {sentinel(from), sentinel(from)};
  }

 private:
  struct Link {
    SlotId previous = 0;
    SlotId next = 0;
  };
  [[nodiscard]] SlotId sentinel(std::uint32_t list) const { return capacity_ + list; }
  [[nodiscard]] SlotId slot_or_none(SlotId at) const { return at < capacity_ ? at : kNoSlot; }
  void link(SlotId previous, SlotId slot, SlotId next) {
    links_[slot] = {previous, next};
    links_[previous].next = slot;
    links_[next].previous = slot;
  }

  SlotId capacity_;
  std::vector<Link> links_;
};

}  // namespace rudder::cache
