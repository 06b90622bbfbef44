// SPDX-License-Identifier: Apache-2.0
// Which row sits in which slot: open addressing, sized once, no allocation afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

namespace rudder::cache {

/// Maps node ids (>= 0) to slots (or to other 32-bit values but kNoSlot). Linear probing at a load of at most
/// one half, backward-shift deletion. O(1) expected. Allocates only in the constructor and in grow(). Not
/// thread-safe; concurrent find() without changes is fine.
class SlotIndex {
 public:
  explicit SlotIndex(std::size_t capacity);

  /// The slot of `row`, or kNoSlot.
  [[nodiscard]] SlotId find(NodeId row) const noexcept { return cells_[locate(row)].slot; }
  /// find() of many rows, with their cells brought towards the cache ahead of use. Spans of equal length.
  void find_many(std::span<const NodeId> rows, std::span<SlotId> slots) const noexcept;
  /// Brings the row's home cell towards the cache, ahead of find().
  void prefetch(NodeId row) const noexcept { __builtin_prefetch(&cells_[home(row)]); }
  /// `row` must be absent, and fewer than capacity() rows present.
  void insert(NodeId row, SlotId slot) noexcept;
  /// `row` must be present.
  void erase(NodeId row) noexcept;
  /// Sets the slot of `row`, present or not; returns the old one, or kNoSlot. Room is needed as for insert()
  /// when the row is absent.
  SlotId exchange(NodeId row, SlotId slot) noexcept;
  /// Makes capacity() at least `capacity`. O(capacity).
  void grow(std::size_t capacity);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  struct Cell {
    NodeId row = kNoNode;
    SlotId slot = kNoSlot;
  };
  [[nodiscard]] std::size_t home(NodeId row) const noexcept {
    return static_cast<std::size_t>(mix64(static_cast<std::uint64_t>(row))) & mask_;
  }
  /// The cell that holds `row`, or the empty cell where it would go.
  [[nodiscard]] std::size_t locate(NodeId row) const noexcept {
    std::size_t i = home(row);
    while (cells_[i].row != row && cells_[i].row != kNoNode) {
      i = (i + 1) & mask_;
    }
    return i;
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t mask_;
  std::vector<Cell> cells_;
};

}  // namespace rudder::cache
