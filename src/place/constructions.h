// SPDX-License-Identifier: Apache-2.0
// Placements that are built, not searched for. Each fills whole grids; which spread comes out is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "place/instance.h"

namespace rudder::place {

/// Row-major fill, minipod after minipod as given: O(R C). Rows stay in few minipods, columns do not.
[[nodiscard]] Cells sequential_fill(const Instance& instance);

/// F1's witness: whole rows in one minipod each, the fewest minipods; nullopt when S = 1 is impossible.
[[nodiscard]] std::optional<Cells> aligned_rows(const Instance& instance);

/// A run of rows in which the minipods stand side by side, each `capacity / height` columns wide.
struct Band {
  std::int32_t height = 0;
  std::vector<MinipodId> minipods;
};

/// Bands: rows are cut into at most Q bands; band b of height h takes at most S minipods whose floor(c / h)
/// sum to at least C, so that each column meets one minipod a band. Heights by depth-first search, bounded by
/// `steps` looks at a minipod; the last minipod of a band is the tightest that completes it.
[[nodiscard]] std::optional<std::vector<Band>> cut_bands(const Instance& instance, Spread pair,
                                                         std::int64_t steps);

[[nodiscard]] Cells fill_bands(const Instance& instance, std::span<const Band> bands);

}  // namespace rudder::place
