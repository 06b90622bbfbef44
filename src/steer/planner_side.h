// SPDX-License-Identifier: Apache-2.0
// What a pilot does on the planner's thread: says what holds, and notes what the planner was told and did.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/steersman.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/counterfactual.h"
#include "rudder/steer/pilot.h"

#include "steer/spsc_ring.h"
#include "steer/wakeup.h"

namespace rudder::steer {

/// One thing that happened on the planner's thread. Memory is used again.
struct PlannerNote {
  enum class Kind : std::uint8_t {
    kBegin,   ///< the buffer goes on from `twin` at batch `step`; rows of later batches follow or are below
    kPushed,  ///< batch `step` asks for `rows`
    kPlanned  ///< batch `step` was planned under `action`
  };
  Kind kind = Kind::kPushed;
  StepId step = 0;
  std::vector<NodeId> rows;
  std::size_t action = 0;
  cache::Counts counts;  ///< with batch 0, of the initial fill too
  SlotId slots = 0, resident = 0;
  std::uint64_t known_ahead = 0;
  std::vector<cache::RowSource> sources;
  std::vector<NodeId> fetch;
  std::vector<cache::Admission> admissions;
  std::unique_ptr<SteeredBuffer> twin;

  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Figures of the planner's side.
struct PlannerTotals {
  std::uint64_t changes = 0, overtaken = 0, late = 0, waits = 0, overdue = 0;
  double wait_seconds = 0;
};

/// Each call is of the planner's thread unless it says otherwise. The steering thread takes notes and
/// publishes actions; neither side waits for the other, but for synchronous waits at borders.
class PlannerSide {
 public:
  /// References outlive it.
  PlannerSide(const ActionSet& actions, const PilotOptions& options, Wakeup& wakeup);

  [[nodiscard]] cache::SteerTerms terms(SlotId slots, const cache::PolicySettings& settings) const;
  [[nodiscard]] Status begin(const cache::Planner& planner,
                             std::shared_ptr<const cache::PolicyContext> context);
  [[nodiscard]] std::optional<cache::Steer> before(StepId step);
  void pushed(StepId step, std::span<const NodeId> rows);
  void planned(const cache::Plan& plan, const cache::Planner& planner);
  [[nodiscard]] cache::Pace pace() const;

  /// Any thread.
  [[nodiscard]] StepId batches_planned() const noexcept { return planned_.load(std::memory_order_relaxed); }
  /// Steering thread's. The note goes back by give_back().
  [[nodiscard]] std::unique_ptr<PlannerNote> take();
  void give_back(std::unique_ptr<PlannerNote> note);
  /// Steering thread's: what holds from the next border on, settled at the end of window `sequence`.
  void publish(std::uint64_t sequence, std::size_t action);
  /// Any thread: ends waits, now and later.
  void stop();
  /// What policies know; null before begin(). Steering thread's, once it has taken a note.
  [[nodiscard]] const cache::PolicyContext* context() const noexcept { return context_.get(); }
  /// Any thread; while the planner goes on, some may be newer than others.
  [[nodiscard]] PlannerTotals totals() const noexcept;

 private:
  [[nodiscard]] cache::Steer steer_of(std::size_t action) const;
  [[nodiscard]] std::unique_ptr<PlannerNote> fresh();
  /// False when there is no room.
  [[nodiscard]] bool send(std::unique_ptr<PlannerNote> note);
  void send_twin(const cache::Planner& planner, StepId step);
  void choose(StepId step);
  void wait_for_settlement(std::uint64_t sequence);

  const ActionSet& actions_;
  const PilotOptions& options_;
  Wakeup& wakeup_;
  SpscRing<std::unique_ptr<PlannerNote>> notes_, spare_;
  std::atomic<std::size_t> waiting_bytes_{0};
  std::atomic<StepId> planned_{0};
  std::atomic<std::uint64_t> publishings_{0};
  std::atomic<std::uint64_t> published_{0};  ///< (sequence + 1) x kMaxActions + action; 0: nothing yet

  // The planner's.
  std::shared_ptr<const cache::PolicyContext> context_;
  SlotId capacity_ = 0;
  std::size_t action_;
  cache::Steer held_;
  std::uint64_t taken_ = 0;  ///< sequence + 1 of the settlement that holds
  cache::Counts fill_;
  bool lost_ = false;  ///< the steering thread has lost sight of the buffer
  // Figures that others read: relaxed.
  std::atomic<std::uint64_t> changes_{0}, overtaken_{0}, seen_publishings_{0}, waits_{0}, overdue_{0};
  std::atomic<double> wait_seconds_{0};

  std::mutex mutex_;  ///< of synchronous waits
  std::condition_variable settled_;
  bool stopped_ = false;
};

}  // namespace rudder::steer
