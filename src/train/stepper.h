// SPDX-License-Identifier: Apache-2.0
// The optimizer steps of one rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/graph/partition.h"
#include "rudder/metrics/step_times.h"
#include "rudder/sample/neighbors.h"
#include "rudder/train/options.h"

#include "train/collective.h"
#include "train/labelled_seeds.h"
#include "train/learner.h"
#include "train/run_progress.h"
#include "train/steering.h"
#include "train/structure_access.h"

namespace rudder::train {

/// What steps work with. Referents outlive the stepper.
struct StepSetting {
  const TrainOptions& options;
  const graph::PartitionedGraph& graph;
  const graph::Part& part;
  const LabelledSeeds& seeds;  ///< of the epoch at hand
  Learner& learner;
  Collective& collective;
  RunProgress& progress;
  const StructureAccess& structure;
  Steering* steering = nullptr;  ///< hears of each batch; null: nobody steers
  const std::atomic<bool>* stop = nullptr;
};

/// What steps add up on this rank.
struct StepSums {
  metrics::StepTimes times;
  cache::Counts counts;
  dataplane::Transfer moved;
  sample::AskedTraffic asked;

  StepSums& operator+=(const StepSums& other) {
    times += other.times;
    counts += other.counts;
    moved += other.moved;
    asked += other.asked;
    return *this;
  }
};

/// Each step learns from a group of batches (StepGroups), sums the gradient over ranks once, and updates the
/// model. The gradient is that of the mean loss over all labelled seeds of the group on all ranks: a group of
/// N batches of B seeds counts as one batch of N x B, and a shorter last group as the smaller batch that it
/// is. A step without a labelled seed on any rank leaves model and optimizer as they are.
class Stepper {
 public:
  explicit Stepper(const StepSetting& setting) : setting_(setting) {}

  /// The step at hand, from `start` to the returned time, with its batches from `feed`. When some rank was
  /// asked to stop, the step is not finished on any rank: with a checkpoint folder stopped() is true from
  /// then on, and the state before the step is saved; without one it is an error (kCancelled).
  [[nodiscard]] Result<TimePoint> step(dataplane::BatchSource& feed, TimePoint start, StepSums& sums);
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// The last step's mean over all ranks.
  [[nodiscard]] double loss() const noexcept { return loss_; }
  /// Of every step so far: hits / requests, 1 when nothing was requested.
  [[nodiscard]] const std::vector<double>& hit_rates() const noexcept { return hit_rates_; }

 private:
  /// What a step's batches add up on this rank.
  struct Group {
    double loss = 0;         ///< summed over labelled seeds
    double seeds = 0;        ///< labelled
    double total = 0;        ///< labelled seeds of all ranks
    double global_loss = 0;  ///< this rank's part of the mean over all ranks
    cache::Counts counts;
  };
  [[nodiscard]] Result<TimePoint> learn(dataplane::BatchSource& feed, TimePoint start, StepSums& sums,
                                        Group& group);
  void tell(const dataplane::BatchSource& feed, bool averaged);
  [[nodiscard]] std::size_t labelled(const dataplane::Batch& batch) const;
  [[nodiscard]] Lesson lesson_of(const dataplane::Batch& batch, double weight);
  [[nodiscard]] Status sum_gradient();
  [[nodiscard]] Status check(float loss) const;

  StepSetting setting_;
  std::vector<float> degrees_;
  std::vector<std::uint8_t> label_rows_;
  std::vector<double> hit_rates_;
  metrics::StepTimes batch_times_;  ///< of the last batch
  std::uint64_t batch_bytes_ = 0;   ///< on the wire
  double loss_ = 0;
  bool stopped_ = false;
};

}  // namespace rudder::train
