// SPDX-License-Identifier: Apache-2.0
// A rank's run as figures that others can watch.
#pragma once

#include <cstdint>

#include "rudder/cache/planner.h"
#include "rudder/dataplane/plane.h"
#include "rudder/metrics/registry.h"
#include "rudder/metrics/step_times.h"
#include "rudder/train/options.h"

#include "train/learning_rate.h"

namespace rudder::train {

/// As a run's options say it.
[[nodiscard]] LearningRate learning_rate_of(const TrainOptions& options, std::uint64_t steps_per_epoch);

/// For the rank's training thread. Totals are of this process: a resumed run counts from where it went on.
/// At the end they are those of the result, summed in the same order.
class RunMetrics {
 public:
  RunMetrics(metrics::Registry& registry, const TrainOptions& options, Rank rank,
             std::uint64_t steps_per_epoch);

  /// Step number `step` of the run, the first is 1: its batch, where its time went, the global loss. The
  /// count of steps is changed last: who sees it sees all of the step.
  void step_done(std::uint64_t step, const cache::Counts& counts, const dataplane::Transfer& moved,
                 const metrics::StepTimes& times, double loss) noexcept;
  void epoch_done(const EpochResult& result) noexcept;

 private:
  const LearningRate rate_;
  metrics::Counter& requests_;
  metrics::Counter& hits_;
  metrics::Counter& fetched_;
  metrics::Counter& bypassed_;
  metrics::Counter& payload_bytes_;
  metrics::Counter& wire_bytes_;
  metrics::Counter& messages_;
  metrics::TimeCounter& compute_;
  metrics::TimeCounter& all_reduce_;
  metrics::TimeCounter& stall_;
  metrics::Gauge& step_loss_;
  metrics::Gauge& epoch_loss_;
  metrics::Gauge& learning_rate_;
  metrics::Gauge& step_time_;
  metrics::Counter& epochs_;
  metrics::Counter& steps_;
};

}  // namespace rudder::train
