// SPDX-License-Identifier: Apache-2.0
#include "steer/held_action.h"

#include <algorithm>

namespace rudder::steer {
namespace {

/// Whether an earlier decision goes on holding.
bool leaves_in_force(Verdict verdict) {
  return verdict == Verdict::kNoTrigger || verdict == Verdict::kPending || verdict == Verdict::kCoolingDown;
}

}  // namespace

bool is_let_through(Verdict verdict) noexcept {
  return verdict == Verdict::kApplied || verdict == Verdict::kUnchanged;
}

HeldAction::HeldAction(const ActionSet& actions, const GuardOptions& guard, bool follow_fallback)
    : actions_(actions),
      guard_(guard),
      follow_fallback_(follow_fallback),
      action_(actions.fallback),
      since_change_(actions.cool_down) {}

void HeldAction::settle(DecisionRecord& record, const Evaluator& evaluator, bool closed) {
  if (is_let_through(record.verdict)) {
    in_force_ = record.decision;
    if (record.verdict == Verdict::kApplied) {
      change_to(record.decision->action);
    }
    return;
  }
  action_ = resting(action_);
  if (in_force_ && leaves_in_force(record.verdict)) {
    if (!is_harmful(action_, actions_, evaluator, guard_)) {
      return;
    }
    if (!record.decision) {
      record.verdict = Verdict::kNegativeBenefit;
      record.decision = in_force_;
      record.staleness = record.sequence - std::min(record.sequence, in_force_->sequence);
    }
  }
  in_force_.reset();
  fall_back(evaluator, closed);
}

/// The action without its replacing, where the set has it.
std::size_t HeldAction::resting(std::size_t action) const {
  Setting setting = actions_.actions[action].setting;
  if (!setting.replace) {
    return action;
  }
  setting.replace = false;
  const auto found = std::find_if(actions_.actions.begin(), actions_.actions.end(),
                                  [&](const Action& each) { return each.setting == setting; });
  return found == actions_.actions.end() ? action
                                         : static_cast<std::size_t>(found - actions_.actions.begin());
}

void HeldAction::fall_back(const Evaluator& evaluator, bool closed) {
  const bool harmful = is_harmful(action_, actions_, evaluator, guard_);
  const std::size_t target = follow_fallback_     ? evaluator.best()
                             : harmful || !closed ? actions_.fallback
                                                  : action_;
  if (target != action_ && (harmful || !closed || since_change_ >= actions_.cool_down)) {
    change_to(target);
  }
}

void HeldAction::change_to(std::size_t action) noexcept {
  action_ = action;
  since_change_ = 0;
}

}  // namespace rudder::steer
