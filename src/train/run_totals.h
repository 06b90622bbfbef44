// SPDX-License-Identifier: Apache-2.0
// Figures of all ranks, from those of each. Every rank calls each function at the same point.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/narrow.h"
#include "rudder/core/result.h"
#include "rudder/train/trainer.h"

#include "train/collective.h"
#include "train/stepper.h"

namespace rudder::train {

/// The sums of all ranks, but for the times: those of the rank that stalled longest, since the others wait
/// for it in their gradient sums, where their own times would hide its stall. Leaves epoch,
/// loss and evaluation open.
[[nodiscard]] Result<EpochResult> sum_epoch(Collective& collective, const StepSums& mine);

/// Of all ranks; the type stays open.
[[nodiscard]] Result<WireError> sum_wire_error(Collective& collective, const NarrowingError& mine);

/// The counts of every rank, in rank order.
[[nodiscard]] Result<std::vector<RankCounts>> gather_counts(Collective& collective,
                                                            const cache::Counts& mine);

/// SHA-256 of the model's parameters, after checking that every rank has the same.
[[nodiscard]] Result<std::string> compare_replicas(Collective& collective, std::span<const float> parameters);

}  // namespace rudder::train
