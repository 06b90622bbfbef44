// SPDX-License-Identifier: Apache-2.0
// Degrees of nodes whose structure other ranks hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/sample/neighbors.h"

namespace rudder::dataplane {

struct AskedDegrees {
  std::vector<std::uint32_t> degrees;  ///< without self-loops, parallel to the nodes
  sample::AskedTraffic moved;
};

/// Pulls the degrees of `nodes` (ascending, distinct, of other ranks) from their owners' kDegreeTable.
/// Blocks.
[[nodiscard]] Result<AskedDegrees> ask_degrees(Plane& plane, std::span<const NodeId> nodes);

}  // namespace rudder::dataplane
