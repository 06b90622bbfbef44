// SPDX-License-Identifier: Apache-2.0
// One rank of a training run.
#pragma once

#include <atomic>
#include <memory>

#include "rudder/core/result.h"
#include "rudder/graph/partition.h"
#include "rudder/train/options.h"
#include "rudder/train/trainer.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::train {

/// What a rank takes part with. Referents outlive the run.
struct RankSetting {
  const TrainOptions& options;
  RankInfo who;
  const graph::PartitionedGraph& graph;
  const EpochListener& listener;
  const std::atomic<bool>* stop;
  transport::Rendezvous& rendezvous;
};

/// Checks what can be checked before ranks meet: names, numbers, and that the partition has `world` parts.
[[nodiscard]] Status check_options(const TrainOptions& options, Rank world,
                                   const graph::PartitionedGraph& graph);

/// Meets the other ranks over `transport`, trains, evaluates. Blocks.
[[nodiscard]] Result<TrainResult> run_rank(const RankSetting& setting,
                                           std::unique_ptr<transport::Transport> transport);

}  // namespace rudder::train
