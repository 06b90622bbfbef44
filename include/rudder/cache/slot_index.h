// SPDX-License-Identifier: Apache-2.0
// Which row sits in which slot: open addressing, sized once, no allocation afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

namespace rudder::cache {

/// Maps node ids to slots. Linear probing at a load of at most one half, backward-shift deletion. O(1)
/// expected. Not thread-safe.
class SlotIndex {
 public:
  explicit SlotIndex(std::size_t capacity);

  /// The slot of `row`, or kNoSlot.
  [[nodiscard]] SlotId find(NodeId row) const noexcept {
    for (std::size_t i = home(row);; i = (i + 1) & mask_) {
      if (cells_[i].row == row) {
        return cells_[i].slot;
      }
      if (cells_[i].row == kNoNode) {
        return kNoSlot;
      }
    }
  }
  /// Brings the row's home cell towards the cache, ahead of find().
  void prefetch(NodeId row) const noexcept { __builtin_prefetch(&cells_[home(row)]); }
  /// `row` must be absent, and fewer than capacity() rows present.
  void insert(NodeId row, SlotId slot) noexcept;
  /// `row` must be present.
  void erase(NodeId row) noexcept;

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

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t mask_;
  std::vector<Cell> cells_;
};

}  // namespace rudder::cache
