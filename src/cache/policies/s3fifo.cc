// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/cache/slot_index.h"

#include "cache/policies/slot_queue.h"

namespace rudder::cache {
namespace {

/// The last `capacity` rows that left the small queue without being promoted.
class Ghosts {
 public:
  explicit Ghosts(SlotId capacity) : rows_(capacity, kNoNode), index_(capacity) {}

  void remember(NodeId row) {
    if (rows_.empty()) {
      return;
    }
    if (rows_[next_] != kNoNode) {
      index_.erase(rows_[next_]);
    }
    rows_[next_] = row;
    index_.insert(row, next_);
    next_ = next_ + 1 == rows_.size() ? 0 : next_ + 1;
  }

  /// True when `row` was remembered; it is no more.
  bool take(NodeId row) {
    const SlotId place = index_.find(row);
    if (place == kNoSlot) {
      return false;
    }
    index_.erase(row);
    rows_[place] = kNoNode;
    return true;
  }

 private:
  std::vector<NodeId> rows_;  ///< ring
  SlotIndex index_;           ///< row to its place in the ring
  SlotId next_ = 0;
};

/// S3-FIFO (Yang et al., SOSP 2023): new rows enter a small queue of a tenth of the slots; those hit more
/// than once there move on to the main queue, others leave and are remembered as ghosts. A miss that is a
/// ghost enters the main queue at once. The main queue gives a row another round for each hit, up to three.
/// Every miss is admitted; hits of a batch come before its misses. O(1) amortised a request.
class S3Fifo final : public Cloneable<S3Fifo> {
 public:
  explicit S3Fifo(SlotId capacity)
      : small_target_(std::max<SlotId>(1, capacity / 10)),
        main_target_(capacity - std::min(capacity, small_target_)),
        links_(capacity, kNoSlot),
        hits_(capacity, 0),
        ghosts_(main_target_) {}

  void serve(const Request& request, Residency& buffer) override {
    if (buffer.capacity() == 0) {
      return;
    }
    for (const SlotId slot : request.slots) {
      if (slot != kNoSlot) {
        hits_[slot] = static_cast<std::uint8_t>(std::min(kMaxHits, hits_[slot] + 1));
      }
    }
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      if (request.slots[i] == kNoSlot) {
        admit(request.rows[i], buffer);
      }
    }
  }

  void adopt(const Residency& buffer) override {
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      if (buffer.row_at(slot) != kNoNode) {
        // They have been of use: as far as it goes, not on trial again.
        (main_.size() < main_target_ ? main_ : small_).push(links_, slot);
      }
    }
  }

 private:
  static constexpr int kMaxHits = 3;
  static constexpr int kPromoteAt = 2;

  void admit(NodeId row, Residency& buffer) {
    const SlotId slot = buffer.full() ? evict(buffer) : buffer.free_slot();
    const bool was_ghost = ghosts_.take(row);
    buffer.place(slot, row);
    hits_[slot] = 0;
    (was_ghost ? main_ : small_).push(links_, slot);
  }

  /// Takes one row out of the queues; the buffer is full.
  SlotId evict(const Residency& buffer) {
    while (small_.size() >= small_target_) {
      const SlotId slot = small_.pop(links_);
      if (hits_[slot] < kPromoteAt || main_target_ == 0) {
        ghosts_.remember(buffer.row_at(slot));
        return slot;
      }
      hits_[slot] = 0;
      main_.push(links_, slot);
      if (main_.size() > main_target_) {
        return evict_main();
      }
    }
    return evict_main();
  }

  SlotId evict_main() {
    for (;;) {
      const SlotId slot = main_.pop(links_);
      if (hits_[slot] == 0) {
        return slot;
      }
      --hits_[slot];
      main_.push(links_, slot);
    }
  }

  SlotId small_target_;
  SlotId main_target_;
  SlotLinks links_;
  std::vector<std::uint8_t> hits_;  ///< by slot, since the row entered its queue; less one a round in main
  SlotQueue small_;
  SlotQueue main_;
  Ghosts ghosts_;
};

}  // namespace

PolicyInfo s3fifo_policy() {
  PolicyInfo info;
  info.name = "s3fifo";
  info.help = "admits every miss into a small queue; rows hit again there move to the main queue";
  info.adopts = true;
  info.make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
    return std::make_unique<S3Fifo>(context.capacity);
  };
  return info;
}

}  // namespace rudder::cache
