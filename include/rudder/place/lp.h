// SPDX-License-Identifier: Apache-2.0
// The two programs of arXiv 2509.15940 in LP format, for any MIP solver to check.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rudder/core/result.h"
#include "rudder/place/baselines.h"
#include "rudder/place/placement.h"

namespace rudder::place {

/// Eq. 2, exactly: min alpha Q + (1 - alpha) S. u_i_k: row i uses minipod k; w_j_k: column j does; x_i_j_k in
/// [0, 1]: its share of the cell (integral shares exist whenever fractional ones do). R C K + (R + C) K + 2
/// variables. Errors: those of solve_frontier(); kInvalidArgument for an alpha outside 0 to 1; kResource
/// beyond 10^6 cell variables.
[[nodiscard]] Result<std::string> eq2_program(std::span<const std::int32_t> capacities, Grid grid,
                                              double alpha);

/// Eq. 4 to 10: min w_o sum_k y_k + w_u T over groups of `unit`. p_i_k: share of group i on minipod k, s_i_k:
/// it has any, y_k: minipod k is used. Capacities are counted in groups. Errors: as eq2_program().
[[nodiscard]] Result<std::string> eq4_program(std::span<const std::int32_t> capacities, Grid grid, Unit unit,
                                              double alpha);

}  // namespace rudder::place
