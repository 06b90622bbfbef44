// SPDX-License-Identifier: Apache-2.0
// A rank's buffer, steered while it trains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"
#include "rudder/metrics/step_times.h"
#include "rudder/steer/pilot.h"
#include "rudder/train/options.h"

#include "train/collective.h"

namespace rudder::train {

/// One pilot with what it needs, fed with the trainer's figures. trained() and rebase() are the training
/// thread's, and neither wait nor allocate.
class Steering {
 public:
  /// `batches`: of the run from here on; `gradient`: floats that are averaged after each group of batches.
  /// Everything outlives it. Nothing of it needs another rank.
  [[nodiscard]] static Result<std::unique_ptr<Steering>> create(const TrainOptions& options, Rank rank,
                                                                const graph::PartitionedGraph& graph,
                                                                const dataplane::Plane& plane,
                                                                std::uint64_t batches, std::size_t gradient);
  /// As stop().
  ~Steering() = default;
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

  /// Sets the pilot to steer a buffer with these options, whose depth grows to the deepest action's.
  void take(dataplane::BufferOptions& buffer);
  /// The next batch was trained on.
  void trained(const metrics::StepTimes& times, std::uint64_t wire_bytes, bool averaged,
               std::uint32_t ready) noexcept;
  /// What was pulled since the last batch was for something else.
  void rebase() noexcept;

  /// The training is over: takes in what is left.
  void finish();
  /// Ends all that it has running. Before the buffer goes.
  void stop() { pilot_->stop(); }
  /// Of all ranks, each of which calls it at the same point.
  [[nodiscard]] Result<SteeringResult> sum(Collective& collective) const;

 private:
  Steering(const SteeringOptions& options, std::unique_ptr<steer::Pilot> pilot, const dataplane::Plane& plane,
           std::uint32_t depth, std::size_t owners);
  void read_traffic() noexcept;

  const SteeringOptions& options_;
  std::unique_ptr<steer::Pilot> pilot_;
  const dataplane::Plane& plane_;
  std::uint32_t depth_;
  std::size_t owners_;
  std::array<dataplane::OwnerTraffic, steer::kMaxOwners> owner_{};
  steer::TrainedBatch batch_;
};

}  // namespace rudder::train
