// SPDX-License-Identifier: Apache-2.0
// Recorded accesses as a scenario: what a trainer of a real graph's part asks for, steered in simulated time.
#pragma once

#include <cstdint>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/trace.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/sim/scenario.h"
#include "rudder/steer/cost.h"

namespace rudder::sim {

/// What a trace does not tell of the run.
struct TraceWorld {
  std::uint32_t window = 8;      ///< batches
  steer::Conditions conditions;  ///< of every step; row_bytes 0: the trace's and a row's id
  cache::PolicySettings settings;
};

/// The batches of one rank, with a buffer of that size and the action set `replace`; one phase, schedule not
/// known. Whole windows alone: the last batches that fill none are left out. Copies what it needs.
/// kInvalidArgument: no such rank, fewer batches than a window has, no slot in the buffer, a trace without
/// degrees.
[[nodiscard]] Result<Scenario> scenario_of(const cache::Trace& trace, Rank rank,
                                           const cache::BufferSize& buffer, const TraceWorld& world);

}  // namespace rudder::sim
