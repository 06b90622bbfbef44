// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/guard.h"

namespace rudder::steer {

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kApplied:
      return "applied";
    case Verdict::kUnchanged:
      return "unchanged";
    case Verdict::kNoTrigger:
      return "no_trigger";
    case Verdict::kPending:
      return "pending";
    case Verdict::kStale:
      return "stale";
    case Verdict::kUnknownAction:
      return "unknown_action";
    case Verdict::kCoolingDown:
      return "cooling_down";
    case Verdict::kLowConfidence:
      return "low_confidence";
    case Verdict::kNegativeBenefit:
      return "negative_benefit";
    case Verdict::kBreakerOpen:
      return "breaker_open";
    case Verdict::kNoAnswer:
      return "no_answer";
    case Verdict::kInvalidReply:
      return "invalid_reply";
  }
  return "";
}

bool is_harmful(std::size_t action, const ActionSet& actions, const Evaluator& evaluator,
                const GuardOptions& options) {
  const std::optional<double> excess = evaluator.excess(action);
  if (options.tolerated_excess < 0 || !excess) {
    return false;
  }
  const std::size_t resting = actions.resting(action);
  return *excess > options.tolerated_excess ||
         (resting != action && *evaluator.excess(resting) <= options.tolerated_excess);
}

Verdict judge(const Decision& decision, const ActionSet& actions, std::uint64_t sequence_now,
              std::size_t action_now, std::uint64_t windows_since_change, const Evaluator& evaluator,
              const GuardOptions& options) {
  if (decision.sequence > sequence_now || sequence_now - decision.sequence > options.stale_after) {
    return Verdict::kStale;
  }
  if (!decision.valid_reply) {
    return Verdict::kInvalidReply;
  }
  if (decision.action >= actions.actions.size()) {
    return Verdict::kUnknownAction;
  }
  if (!(decision.confidence >= options.least_confidence)) {
    return Verdict::kLowConfidence;
  }
  if (is_harmful(decision.action, actions, evaluator, options)) {
    return Verdict::kNegativeBenefit;
  }
  if (decision.action == action_now && !actions.actions[decision.action].setting.replace) {
    return Verdict::kUnchanged;
  }
  return windows_since_change < actions.cool_down ? Verdict::kCoolingDown : Verdict::kApplied;
}

}  // namespace rudder::steer
