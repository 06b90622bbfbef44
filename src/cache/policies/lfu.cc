// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "rudder/cache/policy.h"

#include "cache/slot_lists.h"

namespace rudder::cache {
namespace {

/// Uses are counted while a row is resident, up to kMostUses; the victim is a row of the lowest count, the
/// one longest at that count. Whenever kAgeAfter x capacity uses were counted, all counts are halved at the
/// end of the batch (rounded down, not below 1), so that rows popular long ago can leave: without ageing, LFU
/// keeps them for ever. Where two counts merge, rows of the lower one leave first. Hits first, then misses in
/// row order. O(1) a row, amortised.
class Lfu final : public Cloneable<Lfu> {
 public:
  explicit Lfu(SlotId capacity) : by_count_(capacity, kMostUses + 1), count_(capacity, 0) {}

  void serve(const Request& request, Residency& buffer) override {
    if (buffer.capacity() == 0) {
      return;
    }
    for (const SlotId slot : request.slots) {
      if (slot != kNoSlot) {
        by_count_.remove(slot);
        put(slot, std::min(count_[slot] + 1, kMostUses));
      }
    }
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      if (request.slots[i] == kNoSlot) {
        const SlotId slot = buffer.full() ? take_victim() : buffer.free_slot();
        buffer.place(slot, request.rows[i]);
        put(slot, 1);
      }
    }
    uses_ += request.rows.size();
    if (uses_ >= kAgeAfter * buffer.capacity()) {
      uses_ = 0;
      halve();
    }
  }

  void adopt(const Residency& buffer) override {
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      if (buffer.row_at(slot) != kNoNode) {
        put(slot, 1);
      }
    }
  }

  bool resize(SlotId slots) override {
    SlotLists stay(slots, kMostUses + 1);
    for (std::uint32_t count = 1; count <= kMostUses; ++count) {
      for (SlotId slot = by_count_.front(count); slot != kNoSlot; slot = by_count_.after(slot)) {
        if (slot < slots) {
          stay.push_back(count, slot);
        }
      }
    }
    by_count_ = std::move(stay);
    count_.resize(slots, 0);
    return true;
  }

 private:
  static constexpr std::uint32_t kMostUses = 63;
  static constexpr std::uint64_t kAgeAfter = 10;

  void put(SlotId slot, std::uint32_t count) {
    count_[slot] = count;
    by_count_.push_back(count, slot);
  }
  SlotId take_victim() {
    std::uint32_t count = 1;
    while (by_count_.empty(count)) {
      ++count;
    }
    const SlotId victim = by_count_.front(count);
    by_count_.remove(victim);
    return victim;
  }
  void halve() {
    for (std::uint32_t& count : count_) {
      count = std::max(count / 2, std::uint32_t{1});
    }
    for (std::uint32_t count = 2; count <= kMostUses; ++count) {
      by_count_.append(count / 2, count);
    }
  }

  SlotLists by_count_;  ///< list n: slots used n times, the longest there first
  std::vector<std::uint32_t> count_;
  std::uint64_t uses_ = 0;
};

}  // namespace

PolicyInfo lfu_policy() {
  return {.name = "lfu",
          .help = "on demand: replaces the row used least often, with ageing",
          .adopts = true,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<Lfu>(context.capacity);
          }};
}

}  // namespace rudder::cache
