// SPDX-License-Identifier: Apache-2.0
// Frontier and witnesses of an instance in canonical form.
#pragma once

#include <vector>

#include "rudder/core/result.h"

#include "place/instance.h"

namespace rudder::place {

struct Portfolio {
  std::vector<Witness> witnesses;  ///< none dominated, S ascending
  std::vector<Spread> bounds;      ///< as Frontier::bounds
};

/// The parts of `solve_frontier`; deterministic: `limits.seconds` is a number of search steps, not a clock.
[[nodiscard]] Portfolio solve_instance(const Instance& instance, const SolveLimits& limits);

/// Constructions alone, without any search (bench, and the start of `solve_instance`).
[[nodiscard]] std::vector<Witness> constructed(const Instance& instance);

struct Canonical {
  Instance instance;
  std::vector<MinipodId> original;  ///< index in the caller's list of each canonical minipod
  std::vector<std::int32_t> sizes;  ///< capacities before they were cut to R C
};

/// The tie-breaks: lines even less spread on average, few cuts, large minipods untouched, first names first.
void arrange(const Canonical& problem, double alpha, Cells& cells);

/// Checks the arguments of `solve_frontier` and sorts capacities descending, ties by index.
[[nodiscard]] Result<Canonical> canonical(std::span<const std::int32_t> capacities, Grid grid);

}  // namespace rudder::place
