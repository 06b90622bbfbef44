// SPDX-License-Identifier: Apache-2.0
// Methods of `rudder place --method`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/job.h"

namespace rudder::cli {

/// "rudder", "best-fit", "packing", "random-fit", "topo-aware", "arnold".
[[nodiscard]] const std::vector<std::string>& place_method_names();

/// The maker of a method's cells; empty for "rudder", which is the solver. Ranks are fed in `order`; Arnold's
/// program is run for both units and the better placement is taken.
[[nodiscard]] place::CellMaker place_method(const std::string& name, place::RankOrder order, double alpha,
                                            std::uint32_t seed);

}  // namespace rudder::cli
