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

HeldAction::HeldAction(const ActionSet& actions, const GuardOptions& guard)
    : actions_(actions), guard_(guard), action_(actions.fallback), since_change_(actions.cool_down) {}

void HeldAction::settle(DecisionRecord& record, const Evaluator& evaluator, bool closed) {
  if (is_let_through(record.verdict)) {
    in_force_ = record.decision;
    if (record.verdict == Verdict::kApplied) {
      change_to(record.decision->action);
    }
    return;
  }
  action_ = actions_.resting(action_);
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

void HeldAction::fall_back(const Evaluator& evaluator, bool closed) {
  const bool unguarded = guard_.tolerated_excess < 0;
  std::size_t target = unguarded && !closed ? actions_.fallback : action_;
  if (is_harmful(action_, actions_, evaluator, guard_)) {
    const std::size_t best = evaluator.best();
    target = is_harmful(best, actions_, evaluator, guard_) ? actions_.resting(best) : best;
  }
  if (target != action_) {
    change_to(target);
  }
}

void HeldAction::change_to(std::size_t action) noexcept {
  action_ = action;
  since_change_ = 0;
}

}  // namespace rudder::steer
