// SPDX-License-Identifier: Apache-2.0
// Decides whether a small grid has a placement with a given pair of spreads.
#pragma once

#include <cstdint>
#include <optional>

#include "place/instance.h"

namespace rudder::place {

enum class Verdict : std::uint8_t { kFound, kImpossible, kUndecided };

struct ExactResult {
  Verdict verdict = Verdict::kUndecided;
  Cells cells;  ///< when found
};

/// Depth-first search over the sets of minipods that rows and columns may use. Integral cells exist for fixed
/// sets exactly when Hall's condition holds for each set X of minipods: the cells that only X can serve are
/// at most the capacity of X. `steps` (about one nanosecond each) bounds the search; what is beyond it or has
/// more than 12 minipods is undecided.
[[nodiscard]] ExactResult decide(const Instance& instance, Spread pair, std::int64_t& steps);

}  // namespace rudder::place
