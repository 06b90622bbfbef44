// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "rudder/cache/policy.h"

namespace rudder::cache {
namespace {

/// SIEVE (Zhang et al., NSDI 2024): a queue in order of admission, one visited bit a row, and a hand that
/// moves from the oldest row towards the newest, clears bits and evicts the first row without one. A hit only
/// sets its bit. Every miss is admitted; hits of a batch come before its misses. O(1) amortised a request.
class Sieve final : public Cloneable<Sieve> {
 public:
  explicit Sieve(SlotId capacity)
      : newer_(capacity, kNoSlot), older_(capacity, kNoSlot), visited_(capacity, 0) {}

  void serve(const Request& request, Residency& buffer) override {
    if (buffer.capacity() == 0) {
      return;
    }
    for (const SlotId slot : request.slots) {
      if (slot != kNoSlot) {
        visited_[slot] = 1;
      }
    }
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      if (request.slots[i] == kNoSlot) {
        const SlotId slot = buffer.full() ? evict() : buffer.free_slot();
        buffer.place(slot, request.rows[i]);
        push_newest(slot);
      }
    }
  }

  void adopt(const Residency& buffer) override {
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      if (buffer.row_at(slot) != kNoNode) {
        push_newest(slot);
      }
    }
  }

 private:
  /// Takes the victim out of the queue. The queue is not empty.
  SlotId evict() {
    SlotId slot = hand_ == kNoSlot ? oldest_ : hand_;
    while (visited_[slot] != 0) {
      visited_[slot] = 0;
      slot = newer_[slot] == kNoSlot ? oldest_ : newer_[slot];
    }
    hand_ = newer_[slot];
    unlink(slot);
    return slot;
  }

  void unlink(SlotId slot) {
    (older_[slot] == kNoSlot ? oldest_ : newer_[older_[slot]]) = newer_[slot];
    (newer_[slot] == kNoSlot ? newest_ : older_[newer_[slot]]) = older_[slot];
  }

  void push_newest(SlotId slot) {
    visited_[slot] = 0;
    newer_[slot] = kNoSlot;
    older_[slot] = newest_;
    (newest_ == kNoSlot ? oldest_ : newer_[newest_]) = slot;
    newest_ = slot;
  }

  std::vector<SlotId> newer_;  ///< by slot: neighbours in the queue
  std::vector<SlotId> older_;
  std::vector<std::uint8_t> visited_;
  SlotId oldest_ = kNoSlot;
  SlotId newest_ = kNoSlot;
  SlotId hand_ = kNoSlot;  ///< kNoSlot: at the oldest row
};

}  // namespace

PolicyInfo sieve_policy() {
  PolicyInfo info;
  info.name = "sieve";
  info.help = "admits every miss; evicts the next row without a hit since the hand last passed";
  info.adopts = true;
  info.make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
    return std::make_unique<Sieve>(context.capacity);
  };
  return info;
}

}  // namespace rudder::cache
