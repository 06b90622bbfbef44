// SPDX-License-Identifier: Apache-2.0
// Which action holds, by verdicts on decisions and what the fallback is without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rudder/steer/controller.h"

namespace rudder::steer {

[[nodiscard]] bool is_let_through(Verdict verdict) noexcept;

/// The rules are those above Controller. Not thread-safe.
class HeldAction {
 public:
  HeldAction(const ActionSet& actions, const GuardOptions& guard);

  void window_ended() noexcept { ++since_change_; }
  /// Chooses by the verdict. A decision of before that the evaluator has turned against is withdrawn: the
  /// record then tells so. `closed`: the breaker is.
  void settle(DecisionRecord& record, const Evaluator& evaluator, bool closed);

  [[nodiscard]] std::size_t action() const noexcept { return action_; }
  [[nodiscard]] std::uint64_t windows_since_change() const noexcept { return since_change_; }

 private:
  void fall_back(const Evaluator& evaluator, bool closed);
  void change_to(std::size_t action) noexcept;

  const ActionSet& actions_;
  GuardOptions guard_;
  std::size_t action_;
  std::uint64_t since_change_;        ///< windows
  std::optional<Decision> in_force_;  ///< that the present action comes from
};

}  // namespace rudder::steer
