// SPDX-License-Identifier: Apache-2.0
// Placements by annealing over a pattern that is richer than bands.
#pragma once

#include <cstdint>
#include <optional>

#include "place/instance.h"

namespace rudder::place {

/// Searches for cells within `pair`: the columns are cut into strips, each strip into at most Q layers of
/// rows, and in a layer some minipods stand side by side. A strip's rows can be permuted without changing the
/// sets of its columns, so what counts for S is the number of minipods a row meets over all strips, evened
/// out by shifting strips against each other; what counts for Q is the number of layers, plus one for each
/// column that two minipods of a layer share. Bands are one strip; transposed bands are layers of one
/// minipod. `moves` bounds the annealing of all numbers of strips together and is lowered by those made (0.1
/// to 0.3 us each). Deterministic.
[[nodiscard]] std::optional<Cells> find_strips(const Instance& instance, Spread pair, std::int64_t& moves);

}  // namespace rudder::place
