// SPDX-License-Identifier: Apache-2.0
// How far a rank's run has come: the position, the losses so far, and the checkpoints that keep both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/graph/partition.h"
#include "rudder/train/trainer.h"

#include "train/checkpoint.h"
#include "train/collective.h"
#include "train/learner.h"
#include "train/step_groups.h"

namespace rudder::train {

/// For the rank's training thread. Rank 0 alone reads and writes files; the others get its state.
class RunProgress {
 public:
  /// Referents outlive it.
  RunProgress(const TrainOptions& options, const RankInfo& who, const graph::PartitionedGraph& graph,
              StepGroups groups);

  /// Makes the checkpoint folder ready; rank 0's part.
  [[nodiscard]] Status open();
  /// Takes up the newest checkpoint if the options want it; every rank calls it. An error on every rank when
  /// rank 0's checkpoint is of another run (with the options that differ) or cannot be read.
  [[nodiscard]] Status resume(Collective& collective, Learner& learner);

  [[nodiscard]] std::uint64_t next_step() const noexcept { return state_.next_step; }
  [[nodiscard]] std::uint64_t total_steps() const noexcept { return total_; }
  /// Of the step at hand: its first batch within the run and within its epoch, and how many it has.
  [[nodiscard]] std::uint64_t next_batch() const noexcept { return groups_.first_in_run(state_.next_step); }
  [[nodiscard]] std::uint32_t first_batch_in_epoch() const noexcept {
    return groups_.first_in_epoch(state_.next_step);
  }
  [[nodiscard]] std::uint32_t batches() const noexcept { return groups_.size(state_.next_step); }
  [[nodiscard]] std::uint64_t step_in_epoch() const noexcept {
    return state_.next_step % groups_.steps_per_epoch();
  }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return groups_.epoch(state_.next_step); }
  /// All epochs are finished, or patience is at its end.
  [[nodiscard]] bool done() const noexcept { return state_.next_step >= total_ || out_of_patience(); }

  /// A step's mean losses: over this rank's seeds, and over those of all ranks. Saves when it is time.
  void finish_step(float loss, float global_loss, const Learner& learner);
  /// The sum of the global losses of the epoch whose last step was finished last.
  [[nodiscard]] double loss_of_last_epoch() const noexcept { return last_epoch_loss_; }
  /// Whether the epoch whose last step was finished last is to be evaluated before finish_epoch().
  [[nodiscard]] bool evaluates() const noexcept;
  /// Keeps an epoch's figures, and the model when it is the best one. Saves when checkpoints are made after
  /// epochs.
  void finish_epoch(const EpochResult& result, const Learner& learner);
  /// Gives the learner the best epoch's parameters if the run stops by it.
  void take_best(Learner& learner) const;
  /// Hands a checkpoint to the writer.
  void save(const Learner& learner);
  /// Fills in losses, epochs, the best one, digest, and why the last checkpoint could not be written.
  void report(TrainResult& result);

 private:
  [[nodiscard]] bool out_of_patience() const noexcept;
  [[nodiscard]] Result<bool> read_newest();
  [[nodiscard]] Status share(Collective& collective, bool found);

  const TrainOptions& options_;
  const RankInfo& who_;
  const StepGroups groups_;
  const std::uint64_t total_;
  Checkpoint state_;  ///< but for the learner's part
  double last_epoch_loss_ = 0;
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace rudder::train
