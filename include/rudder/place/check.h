// SPDX-License-Identifier: Apache-2.0
// Re-computes what a placement costs, with no code of the solver: the referee of every output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::place {

enum class Metric : std::uint8_t {
  kCount,  ///< distinct minipods of a group, at least 1
  kRing,   ///< links between minipods of a ring through them: 0 in one minipod, else as many as minipods
};

struct CheckedCells {
  std::int32_t S = 0;
  std::int32_t Q = 0;
  double J = 0;
  double mean_S = 0;              ///< over rows
  double mean_Q = 0;              ///< over columns
  std::int64_t cuts = 0;          ///< neighbouring stages of a row in different minipods
  std::int32_t minipods = 0;      ///< used
  std::int32_t worst_row = 0;     ///< the first with spread S
  std::int32_t worst_column = 0;  ///< the first with spread Q
};

/// Cells row-major, rows x columns, each the index of a minipod. Errors (kInvalidArgument, with the cell or
/// minipod): a wrong number of cells, an unknown minipod, one that serves more cells than its capacity.
[[nodiscard]] Result<CheckedCells> check_cells(std::int32_t rows, std::int32_t columns,
                                               std::span<const std::int32_t> cells,
                                               std::span<const std::int32_t> capacities, double alpha,
                                               Metric metric = Metric::kCount);

/// Hosts of the cells must differ. Errors (kInvalidArgument): the first host that occurs twice, with both
/// cells.
[[nodiscard]] Status check_injective(std::int32_t columns, std::span<const std::string> hosts);

}  // namespace rudder::place
