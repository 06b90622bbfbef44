// SPDX-License-Identifier: Apache-2.0
// What others would do with the same capacities: placements to compare with.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rudder/core/result.h"
#include "rudder/place/placement.h"

namespace rudder::place {

/// The order in which cells are handed to a baseline: pipeline by pipeline, or stage by stage.
enum class FillOrder : std::uint8_t { kRowMajor, kColumnMajor };

// Errors of all: those of solve_frontier(). Ties go to the lowest index.

/// Each node goes to the minipod with the least remaining capacity above 0. O(R C K).
[[nodiscard]] Result<Cells> best_fit(std::span<const std::int32_t> capacities, Grid grid, FillOrder order);

/// Fills the minipod with the largest capacity, then the next; the last is the tightest that finishes.
[[nodiscard]] Result<Cells> packing(std::span<const std::int32_t> capacities, Grid grid, FillOrder order);

/// Each node, row-major, goes to a minipod with room, chosen uniformly by std::mt19937(seed). O(R C K).
[[nodiscard]] Result<Cells> random_fit(std::span<const std::int32_t> capacities, Grid grid,
                                       std::uint32_t seed);

/// Traffic between cells for topo_aware: `pp` between neighbouring stages of a row, `dp` / R between each two
/// cells of a column.
struct TrafficWeights {
  double dp = 1;
  double pp = 1;
};

/// Recursive bisection (Amaral et al., SC'17): the minipods are halved by index, all cells go to the tighter
/// half that holds them, else to both in proportion to their capacities, by greedy growth from a seeded cell
/// and Fiduccia-Mattheyses exchanges; and so on down to single minipods. O(N^2 log K); kUnsupported beyond
/// 2^13 cells.
[[nodiscard]] Result<Cells> topo_aware(std::span<const std::int32_t> capacities, Grid grid,
                                       const TrafficWeights& weights, std::uint64_t seed = 1);

/// The group that Arnold's program (Eq. 4 of arXiv 2509.15940) schedules as one.
enum class Unit : std::uint8_t { kPipeline, kDataParallel };

/// Optimum of Eq. 4, min w_o sum_j y_j + w_u T, in closed form: min(w_o Y1 + w_u, w_o Y2 + 2 w_u), where
/// whole groups of length L fit into Y1 minipods and single nodes into Y2; w_u weighs the unit's own side.
struct GroupOptimum {
  std::int32_t minipods = 0;  ///< sum of y: Y1 or Y2
  std::int32_t T = 0;         ///< 1 or 2; ties go to 1
  double objective = 0;
  /// The proof needs capacities of at least L - 1 in the minipods used: elsewhere groups may meet more.
  bool proved = false;
};
[[nodiscard]] Result<GroupOptimum> group_optimum(std::span<const std::int32_t> capacities, Grid grid,
                                                 Unit unit, double alpha);

/// The placement behind `group_optimum`: groups one after the other through the largest minipods.
[[nodiscard]] Result<Cells> arnold(std::span<const std::int32_t> capacities, Grid grid, Unit unit,
                                   double alpha);

}  // namespace rudder::place
