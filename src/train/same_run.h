// SPDX-License-Identifier: Apache-2.0
// Whether all ranks were started for the same run.
#pragma once

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/train/options.h"
#include "rudder/transport/rendezvous.h"

namespace rudder::train {

/// Tells the other ranks the options that change results, or what ranks do together, and hears theirs. An
/// error names the first option that differs, its two values and ranks: ranks that went on would wait for
/// each other in different places. A timeout names the missing ranks. Once a run, by all ranks.
[[nodiscard]] Status ensure_same_run(const TrainOptions& options, const RankInfo& who,
                                     transport::Rendezvous& rendezvous, Deadline deadline);

}  // namespace rudder::train
