// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"

namespace rudder::cache {
namespace {

/// Second chance (Corbató 1968). A hit sets the slot's mark; the hand clears marks until it finds a slot
/// without one. Rows enter unmarked, so that a row used once does not outlive a full turn. Hits first, then
/// misses in row order. O(1) a row, amortised: each step of the hand undoes a hit or finds a victim.
class ClockPolicy final : public Cloneable<ClockPolicy> {
 public:
  explicit ClockPolicy(SlotId capacity) : marked_(capacity, 0) {}

  void serve(const Request& request, Residency& buffer) override {
    for (const SlotId slot : request.slots) {
      if (slot != kNoSlot) {
        marked_[slot] = 1;
      }
    }
    if (buffer.capacity() == 0) {
      return;
    }
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      if (request.slots[i] == kNoSlot) {
        buffer.place(buffer.full() ? sweep() : buffer.free_slot(), request.rows[i]);
      }
    }
  }

  void adopt(const Residency& /*buffer*/) override {}  // the hand passes over slots, whoever filled them

 private:
  SlotId sweep() {
    while (marked_[hand_] != 0) {
      marked_[hand_] = 0;
      advance();
    }
    const SlotId victim = hand_;
    advance();
    return victim;
  }
  void advance() { hand_ = hand_ + 1 == marked_.size() ? 0 : hand_ + 1; }

  std::vector<std::uint8_t> marked_;
  SlotId hand_ = 0;
};

}  // namespace

PolicyInfo clock_policy() {
  return {.name = "clock",
          .help = "on demand: second chance, an approximation of lru",
          .adopts = true,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<ClockPolicy>(context.capacity);
          }};
}

}  // namespace rudder::cache
