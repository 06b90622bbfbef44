// SPDX-License-Identifier: Apache-2.0
// What every action would have cost: finished windows run again through the planner that ran them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/steered.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/cost.h"

namespace rudder::steer {

/// What a steered buffer is made for. Spans outlive it and its copies.
struct SteeredShape {
  cache::PolicyContext context;  ///< capacity: the most slots that any setting may use
  cache::PolicySettings settings;
  std::span<const NodeId> owners;  ///< the partition book's offsets, one more than there are owners
};

/// Slots that hold under a setting in a memory budget of so many rows; all of the capacity when there is
/// none.
[[nodiscard]] SlotId slots_of(const Setting& setting, SlotId capacity, std::uint64_t memory_rows);

/// Where a live buffer stands between two batches.
struct LiveBuffer {
  const cache::Planner* planner = nullptr;  ///< with a policy of make_steered()
  cache::Steer held;                        ///< what its helm has said last
  Setting setting;                          ///< the same with what the planner does not know
  SlotId capacity = 0;
  StepId served = 0;               ///< batches
  std::span<const NodeId> owners;  ///< as in SteeredShape
};

/// A buffer as the planner sees it, with its clock: serves batches under settings and says what they cost. It
/// holds no rows. The simulator's truth, the twin of a live buffer and counterfactual replays are all of this
/// kind. Copies go on independently from the same state; a buffer and its copies belong to one thread.
class SteeredBuffer {
 public:
  /// An error when `first` or the shape's policy settings are wrong, or the context's shares of them missing.
  [[nodiscard]] static Result<SteeredBuffer> create(const SteeredShape& shape, const Setting& first);
  /// The twin of a live buffer, with a clock of its own: it goes on from there as the live one does. The
  /// batches that the live planner knows already are among those that serve() is told. O(slots).
  [[nodiscard]] static SteeredBuffer twin_of(const LiveBuffer& live);
  SteeredBuffer(const SteeredBuffer& other);
  SteeredBuffer(SteeredBuffer&&) noexcept;
  SteeredBuffer& operator=(const SteeredBuffer&) = delete;
  SteeredBuffer& operator=(SteeredBuffer&&) noexcept;
  ~SteeredBuffer();

  struct Served {
    cache::Counts counts;  ///< with the first batch those of the initial fill too
    Moved moved;
    StepCost cost;
  };
  /// `setting` holds from the next batch on; a replacement happens with that batch. It must be one that
  /// create() would take.
  void apply(const Setting& setting);
  /// Serves known[0]; the batches behind it are known ahead: as many as the policy wants, or all to the run's
  /// end. Rows distinct, ascending, none of the owner's own.
  Served serve(std::span<const std::vector<NodeId>> known, const Conditions& conditions);
  [[nodiscard]] const cache::Residency& residency() const;

 private:
  class Impl;
  explicit SteeredBuffer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The accesses and the world of one finished window.
struct Accesses {
  std::vector<std::vector<NodeId>> batches;  ///< distinct remote rows, ascending
  std::vector<Conditions> conditions;        ///< parallel
  std::vector<std::vector<NodeId>> ahead;    ///< batches known beyond, for settings that go by them
};

/// Keeps the last `horizon` windows and the buffer as it was before them. A replacement costs now and pays
/// later: an action is charged for all of these windows, as if it had held since their start.
///
/// Their accesses are what is known of the accesses to come, but the world that they met may be gone. So all
/// of them are run under the newest window's conditions, batch by batch: what a window learns of a link that
/// has shrunk holds for the whole horizon at once, and nothing of the former link is left in the labels.
class Counterfactual {
 public:
  /// `start`: the buffer before the first window. `actions` outlives this.
  Counterfactual(const ActionSet& actions, const SteeredBuffer& start, std::size_t horizon);
  ~Counterfactual();
  Counterfactual(const Counterfactual&) = delete;
  Counterfactual& operator=(const Counterfactual&) = delete;

  struct Labels {
    std::vector<double> costs;          ///< seconds by action, over the windows kept, as the world is now
    std::vector<cache::Counts> counts;  ///< parallel
    /// Of the last window alone under the action that really held: what was counted live, to the row.
    cache::Counts replayed;
    double replayed_seconds = 0;
  };
  /// A window of at least one batch ended in which `action` held from its first on. O(actions x kept
  /// batches).
  [[nodiscard]] Labels window_ended(Accesses accesses, std::size_t action);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
