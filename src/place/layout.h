// SPDX-License-Identifier: Apache-2.0
// From any cells with a spread to those that the tie-breaks prefer.
#pragma once

#include <cstdint>
#include <span>

#include "place/instance.h"

namespace rudder::place {

/// Exchanges cells while that lowers alpha mean_j Q_j + (1 - alpha) mean_i S_i, and, that being equal,
/// concentrates lines on fewer minipods. S and Q never rise. O(N^2) a pass, at most a fixed number of
/// exchanges is looked at; grids of more than 2^14 cells stay as they are. Deterministic.
void polish(const Instance& instance, double alpha, Cells& cells);

/// Permutes columns and rows so that neighbours share minipods: fewer pipeline cuts, contiguous runs. A path
/// through all lines by nearest neighbour and 2-opt; sides beyond 512 lines are sorted instead.
void order_lines(Grid grid, Cells& cells);

/// Gives the parts of the grid to the tightest minipods that hold them, which leaves the largest untouched;
/// equal capacities are taken in order of first mention, row by row. `sizes` descend; they may exceed the
/// grid. O(N + K log K).
void take_tightest(std::span<const std::int32_t> sizes, Cells& cells);

}  // namespace rudder::place
