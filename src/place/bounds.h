// SPDX-License-Identifier: Apache-2.0
// Proofs that a pair of spreads cannot be had.
#pragma once

#include <cstdint>
#include <vector>

#include "place/instance.h"

namespace rudder::place {

/// F1: the least Q with S = 1, or 0 when no row fits into one minipod everywhere. F2 is the same of the
/// transposed grid. O(K) on descending capacities.
[[nodiscard]] std::int32_t aligned_columns(Grid grid, std::span<const std::int32_t> capacities);

/// B3: the least number of minipods that a line of `length` cells touches.
[[nodiscard]] std::int32_t line_bound(std::int32_t length, std::span<const std::int32_t> capacities);

/// B1: S Q is at least this (product law). O(K log K).
[[nodiscard]] std::int64_t product_bound(Grid grid, std::span<const std::int32_t> capacities);

/// All bounds of one instance; what does not depend on the pair is computed once.
class PairBounds {
 public:
  explicit PairBounds(const Instance& instance);

  /// False only with proof: F1, F2, B1, B3, then B2 relaxed in the rows' budget (Lagrange), then B2 itself
  /// where its table is affordable.
  [[nodiscard]] bool possible(Spread pair) const;

 private:
  [[nodiscard]] bool relaxed_budget(Spread pair) const;
  [[nodiscard]] bool rectangle_budget(Spread pair) const;

  const Instance& instance_;
  std::int32_t least_S_ = 1;
  std::int32_t least_Q_ = 1;
  std::int32_t aligned_Q_ = 0;  ///< with S = 1; 0: impossible
  std::int32_t aligned_S_ = 0;  ///< with Q = 1
  std::int64_t product_ = 1;
  /// relaxed_[l][y]: greatest sum of 2 cells - l a over choices with sum of b <= y; empty when too large.
  std::vector<std::vector<std::int64_t>> relaxed_;
};

}  // namespace rudder::place
