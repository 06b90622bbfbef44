// SPDX-License-Identifier: Apache-2.0
// Steers one live buffer: watches the run, has a decider asked, applies what passes. Training never waits for
// it, unless it is told to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/steersman.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/metrics/registry.h"
#include "rudder/metrics/step_times.h"
#include "rudder/steer/action.h"
#include "rudder/steer/controller.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// What an owner of rows has answered since the run began.
struct OwnerTotals {
  std::uint64_t rows = 0, answers = 0;
  double seconds = 0;        ///< from question to answer, summed over answers
  double busy_seconds = 0;   ///< in which it owed any answer
  double least_seconds = 0;  ///< of its fastest answer; 0: none yet
};

/// What the rank's fetcher has done since the run began.
struct Traffic {
  double moving_seconds = 0;  ///< while any rows were on their way
  std::array<OwnerTotals, kMaxOwners> owner{};
};

/// One batch that was trained on, as the trainer sees it. Plain data.
struct TrainedBatch {
  metrics::StepTimes times;  ///< of this batch, with those of the gradients averaged behind it
  bool averaged = false;     ///< gradients were averaged behind it
  std::uint32_t ready = 0;   ///< batches gathered and not trained on
  std::uint64_t wire_bytes = 0;
  Traffic traffic;
};

struct PilotOptions {
  std::uint32_t window = 16;  ///< batches; settings change between windows only
  bool synchronous = false;   ///< the planner waits at a window's end for what is decided on it
  std::size_t horizon = 4;    ///< windows of counterfactual replay
  ControllerOptions controller;
  StepId steps = 0;            ///< batches of the run
  std::vector<NodeId> owners;  ///< the partition book's offsets, one more than there are owners
  std::uint32_t self = kMaxOwners;
  std::uint32_t depth = 4;    ///< the buffer's: no setting may go deeper
  double row_bytes = 0;       ///< of a row as it travels, without headers
  double gradient_bytes = 0;  ///< that this host sends to average gradients once
  /// The planner waits so long for a decision when synchronous: the decider's own limit and a little.
  Duration patience = from_seconds(15);
  std::size_t backlog = 8;  ///< windows that may wait for the steering thread, at least 2
  std::size_t backlog_bytes = std::size_t{256} << 20;  ///< of batches that do
  bool idle_priority = true;             ///< steer on what all others leave idle; never when synchronous
  std::filesystem::path log = {};        ///< decisions.jsonl; empty: none
  bool append_log = false;               ///< else it begins anew
  metrics::Registry* figures = nullptr;  ///< outlives the pilot; null: none
  std::string rank = "0";                ///< label of the figures
  /// Hears of each settlement, on the steering thread, once it may hold. May be empty.
  std::function<void(const DecisionRecord&)> on_settled = nullptr;
};

/// Who decides, with all that it needs. Destroyed in reverse order.
struct PilotCrew {
  std::unique_ptr<const ActionSet> actions;
  std::unique_ptr<Memory> memory;     ///< null: none
  std::unique_ptr<llm::Model> model;  ///< null: the decider asks none
  std::unique_ptr<Decider> decider;   ///< made for the three above
};

struct PilotTotals {
  ControllerTotals controller;
  std::uint64_t windows = 0;     ///< trained on
  std::uint64_t dropped = 0;     ///< of those: not settled, as the steering thread could not keep up
  std::uint64_t resumed = 0;     ///< times that it went on from a new twin of the buffer
  std::uint64_t replayed = 0;    ///< windows whose counts were compared with their replay
  std::uint64_t mismatches = 0;  ///< of those, not equal
  std::string first_mismatch = {};
  std::uint64_t changes = 0;    ///< of the live setting; replacements count
  std::uint64_t overtaken = 0;  ///< settled actions that a newer one replaced before they held
  std::uint64_t late = 0;       ///< settled when the planner had no border left: they never held
  std::uint64_t waits = 0;      ///< of the planner, when synchronous
  std::uint64_t overdue = 0;    ///< of those, in vain
  double wait_seconds = 0;
  double seconds = 0;           ///< of the replayed windows, as they took
  double replayed_seconds = 0;  ///< the same by the cost model
};

/// Steers one buffer. Three sides, each one thread's: the planner's (Steersman), the trainer's (trained(),
/// rebase()), and the owner's (the rest). Owns a thread that steers and one that asks the decider; models'
/// timeouts bound how long they live on after stop().
///
/// Asynchronous: nobody waits. An action settled at a window's end holds from the next border that the
/// planner comes to, which runs ahead of training: as a rule, one window later. When the steering thread
/// falls behind by the backlog, it loses sight of the buffer: windows are dropped and counted, until it has
/// caught up and the planner hands it a new twin of the buffer at a border. Labels then start anew. So
/// whatever is compared or labelled is exact, and memory is bounded.
///
/// Synchronous: the planner waits at each border until the window before is trained on and decided on. Then
/// nothing is fetched ahead across borders.
class Pilot final : public cache::Steersman {
 public:
  /// Errors name the option that is out of range, or what the actions ask for that live buffers cannot do.
  [[nodiscard]] static Result<std::unique_ptr<Pilot>> create(PilotOptions options, PilotCrew crew);
  /// As stop().
  ~Pilot() override;

  [[nodiscard]] cache::SteerTerms terms(SlotId slots, const cache::PolicySettings& settings) const override;
  [[nodiscard]] Status begin(const cache::Planner& planner,
                             std::shared_ptr<const cache::PolicyContext> context) override;
  [[nodiscard]] std::optional<cache::Steer> before(StepId step) override;
  void pushed(StepId step, std::span<const NodeId> rows) override;
  void planned(const cache::Plan& plan, const cache::Planner& planner) override;
  [[nodiscard]] cache::Pace pace() const override;

  /// The next batch was trained on; all of them, in order. Waits for nothing, allocates nothing, fails never.
  void trained(const TrainedBatch& batch) noexcept;
  /// What moved since the last trained() was for something else: it counts as no batch's.
  void rebase(const Traffic& traffic) noexcept;

  /// The run is over: takes in what is left, at most for `patience`, then stops.
  void finish(Duration patience);
  /// Ends all threads and waits, at once but for a call that a model does not break off. Any number of times.
  void stop();
  /// After finish() or stop().
  [[nodiscard]] const PilotTotals& totals() const;
  [[nodiscard]] const ActionSet& actions() const;

 private:
  class Impl;
  explicit Pilot(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
