// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rudder/cache/trace.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::sim {

/// What the hosts of such a run ask for, `each` ranks a host, one after another: a step's batch is the union
/// of its ranks' less what the host owns, as a buffer that they share sees it; halos and inclusion
/// probabilities likewise. An error when `each` does not divide the ranks. O(rows log each).
[[nodiscard]] Result<cache::Trace> merge_hosts(const cache::Trace& trace, Rank each);

}  // namespace rudder::sim
