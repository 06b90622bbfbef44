// SPDX-License-Identifier: Apache-2.0
// What was learned before a run from runs in other worlds.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sim/steer_eval.h"
#include "rudder/steer/memory.h"

namespace rudder::sim {

class Lessons {
 public:
  /// Runs the lessons of the scenario, which `info` made, each steered by `hedge` without a guard: it tries
  /// actions by what they are worth, so that windows under all of them are seen. None, when it has none.
  [[nodiscard]] static Result<Lessons> of(const ScenarioInfo& info, const Scenario& scenario,
                                          const SteerOptions& options);

  /// Whether there were any.
  [[nodiscard]] bool given() const noexcept { return given_; }
  /// A memory for one run, with all of their windows.
  [[nodiscard]] Result<std::unique_ptr<steer::Memory>> memory() const;
  /// When the decider is a classifier, none is named and there were lessons: gives it one trained on them.
  [[nodiscard]] Status teach(std::string_view decider, steer::DeciderContext& context) const;

 private:
  bool given_ = false;
  std::vector<steer::Experience> windows_;
};

}  // namespace rudder::sim
