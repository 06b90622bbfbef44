// SPDX-License-Identifier: Apache-2.0
// The revealed part of the future: for each use of a row in it, when the row is used next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/cache/slot_index.h"
#include "rudder/core/ids.h"

namespace rudder::cache {

/// A window of consecutive batches: add() appends one, pop() drops the oldest. Uses of one row are chained:
/// adding a use sets the next use of the row's last known one. Amortised O(1) a row; allocates only while the
/// window is larger than ever before. At most 2^31 - 1 uses.
class FutureUses {
 public:
  using Step = std::uint32_t;
  static constexpr Step kUnknown = ~Step{0};  ///< no further use is known

  /// A row that came into the window: its first use there.
  struct FirstUse {
    NodeId row = kNoNode;
    Step step = 0;
  };

  /// Uses are numbered from `first_use` (tests start near the wrap-around).
  explicit FutureUses(std::uint32_t first_use = 0);

  /// Batches in the window are [begin, end).
  [[nodiscard]] Step begin() const { return begin_; }
  [[nodiscard]] Step end() const { return end_; }
  /// Rows of the oldest batch; 0 when there is none.
  [[nodiscard]] std::size_t front_size() const {
    return begin_ == end_ ? 0 : distance(start(begin_), start(begin_ + 1));
  }
  /// The next use of row i of the oldest batch, or kUnknown.
  [[nodiscard]] Step next_use(std::size_t i) const {
    return next_use_[(start(begin_) + static_cast<std::uint32_t>(i)) & (next_use_.size() - 1)];
  }
  /// Distinct rows used after the oldest batch. O(1).
  [[nodiscard]] std::size_t distinct_after_front() const { return last_use_.size() - front_only_; }
  /// First uses added since clear_first_uses(), in order of addition.
  [[nodiscard]] std::span<const FirstUse> first_uses() const { return first_uses_; }
  void clear_first_uses() { first_uses_.clear(); }

  /// Appends batch end(); distinct rows.
  void add(std::span<const NodeId> rows);
  /// Drops the oldest batch; `rows` as it was added.
  void pop(std::span<const NodeId> rows);

 private:
  static constexpr std::uint32_t kUseMask = 0x7fff'ffff;  // uses are numbered modulo 2^31

  static std::uint32_t distance(std::uint32_t from, std::uint32_t to) { return (to - from) & kUseMask; }
  [[nodiscard]] std::uint32_t start(Step step) const { return starts_[step & (starts_.size() - 1)]; }
  void make_room(std::size_t rows);

  Step begin_ = 0;
  Step end_ = 0;
  std::vector<std::uint32_t> starts_;  ///< ring by step: number of the batch's first use, for [begin_, end_]
  std::vector<Step> next_use_;         ///< ring by use
  SlotIndex last_use_;                 ///< row to its last use in the window
  std::size_t front_only_ = 0;         ///< rows of the oldest batch that are not used after it
  std::vector<FirstUse> first_uses_;
};

}  // namespace rudder::cache
