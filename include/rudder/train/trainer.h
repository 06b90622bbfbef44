// SPDX-License-Identifier: Apache-2.0
// The native trainer: one rank of a data-parallel run. No LibTorch type appears here.
#pragma once

#include <atomic>
#include <functional>

#include "rudder/core/result.h"
#include "rudder/train/options.h"

namespace rudder::train {

/// Hears of finished epochs on rank 0; called on the training thread.
using EpochListener = std::function<void(const EpochResult&)>;

/// Whether the run's steering can be made as its options say: names, bounds, files.
[[nodiscard]] Status check_steering(const TrainOptions& options);

/// Trains and evaluates; blocks. The result is complete on rank 0; other ranks get their own losses and the
/// summed figures. A peer's failure is an error that names its rank and host, within the deadline. `stop`
/// (may be null) ends the run between steps: with a checkpoint and a result that says so when there is a
/// folder for it, else with kCancelled. With transport "loopback" this process plays all
/// `world` ranks, one thread each.
[[nodiscard]] Result<TrainResult> train(const TrainOptions& options, const RankInfo& who,
                                        const EpochListener& listener, const std::atomic<bool>* stop);

}  // namespace rudder::train
