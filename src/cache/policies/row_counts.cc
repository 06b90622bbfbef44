// SPDX-License-Identifier: Apache-2.0
#include "cache/policies/row_counts.h"

#include <utility>

#include "cache/top_rows.h"

namespace rudder::cache {

void RowCounts::add(std::span<const NodeId> rows) {
  if (entries_.size() + rows.size() > index_.capacity()) {
    index_.grow(2 * (entries_.size() + rows.size()));
  }
  for (const NodeId row : rows) {
    SlotId place = index_.find(row);
    if (place == kNoSlot) {
      place = narrow<SlotId>(entries_.size());
      index_.insert(row, place);
      entries_.push_back({row, 0});
    }
    ++entries_[place].count;
  }
}

void RowCounts::clear() {
  index_ = SlotIndex(index_.capacity());
  entries_.clear();
}

std::vector<NodeId> RowCounts::top(std::size_t limit, std::uint32_t least) const {
  std::vector<Scored<std::uint32_t>> best;
  for (const Entry& entry : entries_) {
    if (entry.count >= least) {
      best.push_back({entry.count, entry.row});
    }
  }
  return top_rows(std::move(best), limit);
}

}  // namespace rudder::cache
