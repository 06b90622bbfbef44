// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/slot_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "rudder/core/check.h"

namespace rudder::cache {
namespace {

/// Cells in flight ahead of the probing one: covers a memory access of about 100 ns at 5 ns a probe.
constexpr std::size_t kPrefetchDistance = 16;

std::size_t cells_for(std::size_t capacity) {
  return std::bit_ceil(std::max<std::size_t>(2 * capacity, 2));
}

}  // namespace

SlotIndex::SlotIndex(std::size_t capacity)
    : capacity_(capacity), mask_(cells_for(capacity) - 1), cells_(cells_for(capacity)) {}

void SlotIndex::find_many(std::span<const NodeId> rows, std::span<SlotId> slots) const noexcept {
  RUDDER_DCHECK(rows.size() == slots.size(), "find_many() needs one slot for each row");
  const std::size_t ahead = std::min(rows.size(), kPrefetchDistance);
  for (std::size_t i = 0; i < ahead; ++i) {
    prefetch(rows[i]);
  }
  const std::size_t steady = rows.size() - ahead;
  for (std::size_t i = 0; i < steady; ++i) {
    prefetch(rows[i + kPrefetchDistance]);
    slots[i] = find(rows[i]);
  }
  for (std::size_t i = steady; i < rows.size(); ++i) {
    slots[i] = find(rows[i]);
  }
}

void SlotIndex::insert(NodeId row, SlotId slot) noexcept {
  const SlotId old = exchange(row, slot);
  RUDDER_DCHECK(old == kNoSlot, "insert() of a row that is present");
}

void SlotIndex::erase(NodeId row) noexcept {
  std::size_t hole = locate(row);
  RUDDER_DCHECK(row >= 0 && cells_[hole].row == row, "erase() of a row that is absent");
  // Backward shift (Knuth, TAOCP 6.4, algorithm R): a later cell of the run fills the hole unless its home
  // lies cyclically after the hole.
  for (std::size_t i = (hole + 1) & mask_; cells_[i].row != kNoNode; i = (i + 1) & mask_) {
    const std::size_t from_home = (i - home(cells_[i].row)) & mask_;
    const std::size_t from_hole = (i - hole) & mask_;
    if (from_home >= from_hole) {
      cells_[hole] = cells_[i];
      hole = i;
    }
  }
  cells_[hole] = Cell{};
  --size_;
}

SlotId SlotIndex::exchange(NodeId row, SlotId slot) noexcept {
  RUDDER_DCHECK(row >= 0 && slot != kNoSlot, "a slot index holds ids from 0 and slots below kNoSlot");
  Cell& cell = cells_[locate(row)];
  if (cell.row == kNoNode) {
    RUDDER_DCHECK(size_ < capacity_, "the slot index is full");
    cell.row = row;
    ++size_;
  }
  return std::exchange(cell.slot, slot);
}

void SlotIndex::grow(std::size_t capacity) {
  if (capacity <= capacity_) {
    return;
  }
  SlotIndex larger(capacity);
  for (const Cell& cell : cells_) {
    if (cell.row != kNoNode) {
      larger.insert(cell.row, cell.slot);
    }
  }
  *this = std::move(larger);
}

}  // namespace rudder::cache
