// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/cache/slot_index.h"
#include "rudder/core/ids.h"

namespace rudder::cache {

/// How often each row was asked for. O(1) expected a row, memory by distinct rows.
class RowCounts {
 public:
  struct Entry {
    NodeId row = kNoNode;
    std::uint32_t count = 0;
  };

  void add(std::span<const NodeId> rows);
  [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
  void clear();

  /// Up to `limit` rows of the highest counts, at least `least` each, ties by ascending row; the result
  /// ascending by row. O(distinct rows + result log result).
  [[nodiscard]] std::vector<NodeId> top(std::size_t limit, std::uint32_t least) const;

 private:
  std::vector<Entry> entries_;
  SlotIndex index_{0};  ///< row to its place in entries_
};

}  // namespace rudder::cache
