// SPDX-License-Identifier: Apache-2.0
// The best rows by some score: what static buffers hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"

namespace rudder::cache {

/// A row and what it is worth. Orders best first: higher score, then lower id.
template <class Score>
struct Scored {
  Score score{};
  NodeId row = kNoNode;
  friend bool operator<(const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// The `count` best of `candidates` (all, when there are fewer), ascending by id. O(n + count log count).
template <class Score>
[[nodiscard]] std::vector<NodeId> top_rows(std::vector<Scored<Score>> candidates, std::size_t count) {
  count = std::min(count, candidates.size());
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                   candidates.end());
  std::vector<NodeId> rows(count);
  std::transform(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), rows.begin(),
                 [](const Scored<Score>& candidate) { return candidate.row; });
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// Fills an empty buffer with rows, as many as it has slots at most.
inline void fill(Residency& buffer, const std::vector<NodeId>& rows) {
  for (const NodeId row : rows) {
    buffer.place(buffer.free_slot(), row);
  }
}

/// In-degree of `row`; 0 when the context does not know it.
[[nodiscard]] inline EdgeIndex degree_of(const PolicyContext& context, NodeId row) {
  if (!context.indptr.empty()) {
    const auto at = static_cast<std::size_t>(row);
    return context.indptr[at + 1] - context.indptr[at];
  }
  const auto found = std::lower_bound(context.halo.begin(), context.halo.end(), row);
  const auto at = static_cast<std::size_t>(found - context.halo.begin());
  return at < context.halo_degrees.size() && *found == row ? context.halo_degrees[at] : 0;
}

}  // namespace rudder::cache
