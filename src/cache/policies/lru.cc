// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"

#include "cache/slot_lists.h"

namespace rudder::cache {
namespace {

/// Hits are used in row order, then misses enter in row order. O(1) a row.
class Lru final : public Cloneable<Lru> {
 public:
  explicit Lru(SlotId capacity) : order_(capacity, 1) {}

  void serve(const Request& request, Residency& buffer) override {
    for (const SlotId slot : request.slots) {
      if (slot != kNoSlot) {
        order_.remove(slot);
        order_.push_back(kList, slot);
      }
    }
    if (buffer.capacity() == 0) {
      return;
    }
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      if (request.slots[i] == kNoSlot) {
        buffer.place(take_slot(buffer), request.rows[i]);
      }
    }
  }

  void adopt(const Residency& buffer) override {
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      if (buffer.row_at(slot) != kNoNode) {
        order_.push_back(kList, slot);
      }
    }
  }

 private:
  static constexpr std::uint32_t kList = 0;  ///< least recently used first

  SlotId take_slot(const Residency& buffer) {
    SlotId slot = kNoSlot;
    if (buffer.full()) {
      slot = order_.front(kList);
      order_.remove(slot);
    } else {
      slot = buffer.free_slot();
    }
    order_.push_back(kList, slot);
    return slot;
  }

  SlotLists order_;
};

}  // namespace

PolicyInfo lru_policy() {
  return {.name = "lru",
          .help = "on demand: replaces the least recently used row",
          .adopts = true,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<Lru>(context.capacity);
          }};
}

}  // namespace rudder::cache
