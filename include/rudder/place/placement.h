// SPDX-License-Identifier: Apache-2.0
// Placement of a job's grid of nodes on minipods: which pairs of spreads (S, Q) can be had, with proof where
// there is one, and the cells that have them.
//
// A job is a grid of R rows (pipelines) and C columns (stages); a cell is a node. S is the largest number of
// minipods that a row touches, Q the same of columns. For a weight alpha of the data-parallel side the
// objective is J = alpha Q + (1 - alpha) S. The pairs do not depend on alpha, so one Frontier answers all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology.h"

namespace rudder::place {

struct Grid {
  std::int32_t rows = 0;     ///< R: pipelines
  std::int32_t columns = 0;  ///< C: stages
  [[nodiscard]] std::int64_t cells() const noexcept { return std::int64_t{rows} * columns; }
};

/// Minipod of each cell, row-major: cells[r * columns + c].
using Cells = std::vector<MinipodId>;

struct Spread {
  std::int32_t S = 0;  ///< over rows
  std::int32_t Q = 0;  ///< over columns
};

/// A pair that a construction reaches.
struct FrontierPoint {
  Spread spread;
  std::string_view method;  ///< what found it: "aligned", "bands", "fill", "search", "exact"
};

struct Frontier {
  std::vector<FrontierPoint> points;  ///< reached, none dominated, S ascending
  std::vector<Spread> bounds;         ///< pairs that no proof excludes, none dominated, S ascending
  /// Least alpha Q + (1 - alpha) S over `bounds`: no placement is below it.
  [[nodiscard]] double lower_bound(double alpha) const;
  /// The point with the least J; ties go to the smaller of the term that alpha weighs less.
  [[nodiscard]] const FrontierPoint& best(double alpha) const;
};

struct SolveLimits {
  /// For local search, and as much again for exact search; bounds and constructions always run. Seconds of a
  /// core of 2024: they are counted in search steps, so that results depend on no clock.
  double seconds = 1.0;
  std::int32_t exact_cells = 40;  ///< grids up to this size are searched exhaustively
};

/// `capacities[k]`: usable nodes of minipod k, any order; the result does not depend on the order up to
/// renaming of equal minipods. Errors: kInvalidArgument when the grid is empty, R C > 2^20 or a capacity is
/// negative; kResource when the capacities sum to less than R C, with both numbers.
[[nodiscard]] Result<Frontier> solve_frontier(std::span<const std::int32_t> capacities, Grid grid,
                                              const SolveLimits& limits = {});

/// Cells with at most the spread of a point of `solve_frontier` on the same arguments, and with the
/// tie-breaks for this alpha: mean spread of lines, few cuts along rows and columns, the largest minipods
/// untouched. Deterministic. Errors: as `solve_frontier`; kInvalidArgument when the spread is no point of the
/// frontier or alpha is not in 0 to 1.
[[nodiscard]] Result<Cells> realise(std::span<const std::int32_t> capacities, Grid grid, Spread spread,
                                    double alpha, const SolveLimits& limits = {});

/// Spread of cells as given; literal, O(R C).
[[nodiscard]] Spread spread_of(Grid grid, std::span<const MinipodId> cells);

}  // namespace rudder::place
