// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"
#include "rudder/core/check.h"

namespace rudder::cache {

Residency::Residency(SlotId capacity)
    : capacity_(capacity),
      index_(capacity),
      rows_(capacity, kNoNode),
      free_position_(capacity),
      is_touched_(capacity, 0) {
  free_.reserve(capacity);
  list_free_slots();
  touched_.reserve(capacity);
  before_.reserve(capacity);
}

SlotId Residency::free_slot() const noexcept {
  RUDDER_DCHECK(!free_.empty(), "free_slot() of a full buffer");
  return free_.back();
}

void Residency::place(SlotId slot, NodeId row) {
  RUDDER_DCHECK(slot < rows_.size() && row >= 0, "place() outside the buffer, or of no row");
  touch(slot);
  if (rows_[slot] == kNoNode) {
    const SlotId hole = free_position_[slot];
    free_[hole] = free_.back();
    free_position_[free_[hole]] = hole;
    free_.pop_back();
  } else {
    index_.erase(rows_[slot]);
  }
  index_.insert(row, slot);
  rows_[slot] = row;
}

void Residency::clear(SlotId slot) {
  RUDDER_DCHECK(slot < rows_.size() && rows_[slot] != kNoNode, "clear() of a free slot");
  touch(slot);
  index_.erase(rows_[slot]);
  rows_[slot] = kNoNode;
  free_position_[slot] = narrow<SlotId>(free_.size());
  free_.push_back(slot);
}

void Residency::set_capacity(SlotId capacity) {
  RUDDER_CHECK(capacity <= rows_.size(), "a buffer cannot have more slots than it was made with");
  for (SlotId slot = capacity; slot < capacity_; ++slot) {
    if (rows_[slot] != kNoNode) {
      clear(slot);
    }
  }
  capacity_ = capacity;
  list_free_slots();
}

/// The lowest comes first.
void Residency::list_free_slots() {
  free_.clear();
  for (SlotId slot = capacity_; slot-- > 0;) {
    if (rows_[slot] == kNoNode) {
      free_position_[slot] = narrow<SlotId>(free_.size());
      free_.push_back(slot);
    }
  }
}

void Residency::touch(SlotId slot) {
  if (is_touched_[slot] == 0) {
    is_touched_[slot] = 1;
    touched_.push_back(slot);
    before_.push_back(rows_[slot]);
  }
}

void Residency::forget_touched() {
  for (const SlotId slot : touched_) {
    is_touched_[slot] = 0;
  }
  touched_.clear();
  before_.clear();
}

}  // namespace rudder::cache
