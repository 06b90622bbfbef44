// SPDX-License-Identifier: Apache-2.0
// Results of the place commands, as JSON objects and as text.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/place/job.h"

#include "cli/command.h"

namespace rudder::cli {

/// Minipods of --capacities have no names: they are positions in that list.
enum class MinipodIds : std::uint8_t { kNames, kNumbers };

/// [{"rank0","row","stage","host","minipod","leaf"}] in rank order.
[[nodiscard]] Json nodes_json(const place::Plan& plan, MinipodIds ids);

/// S, Q, J, J_lb, gap, optimal, seconds, nodes; and spares, families, predicted_seconds where they were asked
/// for.
[[nodiscard]] Json placement_json(const place::PlacedJob& placed, double seconds, MinipodIds ids);

/// The same for people: figures, the frontier, and the nodes of each minipod.
[[nodiscard]] std::string placement_text(const place::PlacedJob& placed, double seconds);

}  // namespace rudder::cli
