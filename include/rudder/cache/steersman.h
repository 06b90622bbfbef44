// SPDX-License-Identifier: Apache-2.0
// Who steers a live buffer, and hears what its planner does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/steered.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// How far and how fast rows may move ahead of need. It never changes a plan.
struct Pace {
  std::uint32_t depth = 0;        ///< batches, at most the buffer's depth
  double bytes_per_second = 0;    ///< of batches that nobody has asked for yet; 0: no limit
  std::uint64_t staged_rows = 0;  ///< that may wait outside of slots, but for one batch's; 0: no limit
};

/// What a buffer must be made for.
struct SteerTerms {
  Steer first;                        ///< holds from the first batch on
  std::vector<std::string> policies;  ///< that may come to hold, the first one among them
  std::uint32_t ahead = 0;            ///< batches that must be known beyond each one that is planned
  PolicySettings settings;
};

/// All calls but terms() come from the buffer's planning thread, which waits for them.
class Steersman : public Helm {
 public:
  /// Of a buffer of so many slots whose policies have these settings.
  [[nodiscard]] virtual SteerTerms terms(SlotId slots, const PolicySettings& settings) const = 0;
  /// Before the first batch. `planner` has planned nothing yet; `context` is what its policy knows, and holds
  /// all that its spans show. An error keeps the buffer from being made.
  [[nodiscard]] virtual Status begin(const Planner& planner,
                                     std::shared_ptr<const PolicyContext> context) = 0;
  /// Batch `step` is known from now on.
  virtual void pushed(StepId step, std::span<const NodeId> rows) = 0;
  /// The planner has made this plan; its next one is of the batch behind.
  virtual void planned(const Plan& plan, const Planner& planner) = 0;
  /// From the plan made last on.
  [[nodiscard]] virtual Pace pace() const = 0;
};

}  // namespace rudder::cache
