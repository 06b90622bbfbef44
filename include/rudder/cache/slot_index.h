// SPDX-License-Identifier: Apache-2.0
// Which row sits in which slot: open addressing, sized once, no allocation afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

namespace rudder::cache {

/// Maps node ids (>= 0) to slots (or to other 32-bit values but kNoSlot). Buckets of one cache line; a row
/// goes into the first bucket with room from its home on, and each bucket counts the rows that went past it,
/// so that a search ends in the home bucket nearly always and removal leaves no marks (as in Folly's F14). At
/// most half full. O(1) expected. Allocates only in the constructor and in grow(). Not thread-safe;
/// concurrent find() without changes is fine.
class SlotIndex {
 public:
  explicit SlotIndex(std::size_t capacity);

  /// The slot of `row`, or kNoSlot.
  [[nodiscard]] SlotId find(NodeId row) const noexcept {
    for (std::size_t i = home(row);; i = (i + 1) & mask_) {
      const Bucket& bucket = buckets_[i];
      // Masks instead of branches, which would mispredict: one cell of five matches, or none. ~kNoSlot is 0.
      SlotId inverted = 0;
      for (std::size_t cell = 0; cell < kCells; ++cell) {
        inverted |= ~bucket.slots[cell] & (SlotId{0} - static_cast<SlotId>(bucket.rows[cell] == row));
      }
      const SlotId slot = ~inverted;
      if (static_cast<int>(slot != kNoSlot) + static_cast<int>(bucket.passed == 0) != 0)
          [[likely]] {  // one branch
        return slot;
      }
    }
  }
  /// find() of many rows, with their buckets brought towards the cache ahead of use. Spans of equal length.
  void find_many(std::span<const NodeId> rows, std::span<SlotId> slots) const noexcept;
  /// Brings the row's home bucket towards the cache, ahead of find().
  void prefetch(NodeId row) const noexcept { __builtin_prefetch(&buckets_[home(row)]); }
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
  static constexpr std::size_t kCells = 5;
  struct alignas(64) Bucket {
    std::array<NodeId, kCells> rows;   ///< kNoNode when free
    std::array<SlotId, kCells> slots;  ///< kNoSlot when free
    std::uint32_t passed = 0;          ///< rows that live in a later bucket for want of room here
    Bucket() noexcept {
      rows.fill(kNoNode);
      slots.fill(kNoSlot);
    }
  };
  static_assert(sizeof(Bucket) == 64);

  [[nodiscard]] static std::size_t buckets_for(std::size_t capacity) noexcept;
  /// The cell of `bucket` that holds `row`, or kCells.
  [[nodiscard]] static std::size_t cell_of(const Bucket& bucket, NodeId row) noexcept;
  [[nodiscard]] std::size_t home(NodeId row) const noexcept {
    return static_cast<std::size_t>(mix64(static_cast<std::uint64_t>(row))) & mask_;
  }
  /// Where the slot of `row` is stored; null when the row is absent.
  [[nodiscard]] SlotId* locate(NodeId row) noexcept;

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t mask_;
  std::vector<Bucket> buckets_;
};

}  // namespace rudder::cache
