// SPDX-License-Identifier: Apache-2.0
// What every action would have cost: finished windows run again through the planner that ran them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/cost.h"
#include "rudder/steer/decision.h"

namespace rudder::steer {

/// The accesses and the world of one finished window.
struct Accesses {
  std::vector<std::vector<NodeId>> batches;  ///< distinct remote rows, ascending
  std::vector<Conditions> conditions;        ///< parallel
};

/// A buffer as the planner sees it, with its clock: serves batches under settings and says what they cost.
/// Holds no rows. The same code runs the simulator's truth and the replays of it.
class SteeredBuffer {
 public:
  /// `owners`: the partition book's offsets, one more than there are owners.
  SteeredBuffer(const cache::PolicyContext& context, const cache::PolicySettings& settings,
                std::span<const NodeId> owners);
  SteeredBuffer(const SteeredBuffer& other);
  SteeredBuffer& operator=(const SteeredBuffer&) = delete;
  ~SteeredBuffer();

  struct Served {
    cache::Counts counts;
    StepCost cost;
    Moved moved;
  };
  /// Holds from the next batch on.
  void apply(const Setting& setting, const Conditions& conditions);
  /// `ahead`: the batches after this one, for settings that know them.
  [[nodiscard]] Served serve(const std::vector<NodeId>& rows, const Conditions& conditions);
  [[nodiscard]] const cache::Residency& residency() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Keeps the last `horizon` windows and the buffer as it was before them. A replacement costs now and pays
/// later: an action is charged for all of the horizon's windows, as if it had held since their start.
class Counterfactual {
 public:
  /// `start`: the buffer before the first window.
  Counterfactual(const ActionSet& actions, const SteeredBuffer& start, std::size_t horizon);
  ~Counterfactual();

  struct Labels {
    std::vector<double> costs;          ///< seconds by action, over the horizon
    std::vector<cache::Counts> counts;  ///< parallel
    /// Of the last window alone under the action that really held: equals what was counted live.
    cache::Counts replayed;
    StepCost cost;
  };
  /// A window ended in which `action` held. O(actions x horizon x batches).
  [[nodiscard]] Labels window_ended(Accesses accesses, std::size_t action);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
