// SPDX-License-Identifier: Apache-2.0
// What the solver's parts share: a problem in canonical form and a placement that they found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rudder/place/placement.h"

namespace rudder::place {

/// Capacities are positive, descending and at most R C each; minipods are named by their place in that order.
struct Instance {
  Grid grid;
  std::vector<std::int32_t> capacities;
};

struct Witness {
  Spread spread;
  std::string_view method;
  Cells cells;
};

[[nodiscard]] inline bool within(Spread a, Spread b) {
  return a.S <= b.S && a.Q <= b.Q;
}
[[nodiscard]] inline bool operator==(Spread a, Spread b) {
  return a.S == b.S && a.Q == b.Q;
}
[[nodiscard]] inline Spread transposed(Spread spread) {
  return {.S = spread.Q, .Q = spread.S};
}
[[nodiscard]] inline Grid transposed(Grid grid) {
  return {.rows = grid.columns, .columns = grid.rows};
}
[[nodiscard]] inline std::size_t cell_count(Grid grid) {
  return static_cast<std::size_t>(grid.cells());
}

[[nodiscard]] inline std::size_t cell_at(Grid grid, std::int32_t row, std::int32_t column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(grid.columns) +
         static_cast<std::size_t>(column);
}

/// `cells` of `grid` as cells of the transposed grid.
[[nodiscard]] inline Cells transposed(Grid grid, std::span<const MinipodId> cells) {
  Cells result(cells.size());
  for (std::int32_t r = 0; r < grid.rows; ++r) {
    for (std::int32_t c = 0; c < grid.columns; ++c) {
      result[cell_at(transposed(grid), c, r)] = cells[cell_at(grid, r, c)];
    }
  }
  return result;
}

}  // namespace rudder::place
