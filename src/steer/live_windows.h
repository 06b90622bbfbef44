// SPDX-License-Identifier: Apache-2.0
// Puts together what the planner's and the trainer's threads noted of each batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/steer/counterfactual.h"
#include "rudder/steer/host_load.h"
#include "rudder/steer/observer.h"
#include "rudder/steer/pilot.h"
#include "rudder/steer/window.h"

#include "steer/measured_world.h"
#include "steer/planner_side.h"
#include "steer/spsc_ring.h"

namespace rudder::steer {

/// What the trainer's thread says.
struct TrainedNote {
  bool rebase = false;  ///< only batch.traffic counts: of what is no batch's
  StepId step = 0;
  StepId planned = 0;  ///< batches, at that time
  TrainedBatch batch;
};

/// A window that was trained on.
struct FinishedWindow {
  std::unique_ptr<SteeredBuffer> twin;  ///< the buffer before it; null: as the window before left it
  bool observed = false;  ///< `window` is there: the trainer's figures of all its batches came through
  Window window;
  std::size_t action = 0;  ///< that held
  cache::Counts counts;    ///< of the live planner
  Accesses accesses;
  double seconds = 0;  ///< of its batches
};

/// All calls from one thread. Its memory is bounded by what the planner's side lets wait.
class LiveWindows {
 public:
  /// References outlive it. `ahead`: batches that must be known beyond a window.
  LiveWindows(const PilotOptions& options, std::uint32_t ahead, PlannerSide& planner,
              SpscRing<TrainedNote>& trained);

  /// The next window when all of it has been trained on. An error is a programmer's.
  [[nodiscard]] std::optional<FinishedWindow> next();
  /// What has been trained on of the last window, when the run is over. Nothing when that is nothing.
  [[nodiscard]] std::optional<FinishedWindow> rest();
  /// Windows of which something was lost before they were put together.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }

 private:
  [[nodiscard]] bool take_plan();
  [[nodiscard]] bool take_trained();
  void begin(PlannerNote& note);
  void merge(const TrainedNote* trained);
  void observe(const PlannerNote& plan, const PlannerNote& pushed, const TrainedNote& trained);
  [[nodiscard]] FinishedWindow finish();
  void forget_before(StepId step);

  const PilotOptions& options_;
  const std::uint32_t ahead_;
  PlannerSide& planner_;
  SpscRing<TrainedNote>& trained_;

  std::unique_ptr<HostLoad> host_;  ///< null: cannot be read
  std::unique_ptr<Observer> observer_;
  MeasuredWorld world_;
  std::map<StepId, std::unique_ptr<PlannerNote>> known_;  ///< pushed; from the window at hand on
  std::unique_ptr<PlannerNote> plan_;                     ///< of the next batch
  std::optional<TrainedNote> note_;                       ///< taken and not merged
  Traffic traffic_;                                       ///< at the last batch
  std::unique_ptr<SteeredBuffer> twin_;                   ///< for the next window
  std::uint64_t dropped_ = 0, begun_ = 0;

  // The window at hand.
  StepId first_ = 0, next_ = 0;
  FinishedWindow window_;
  std::vector<double> compute_seconds_, all_reduce_seconds_;
  std::vector<bool> averaged_;
};

}  // namespace rudder::steer
