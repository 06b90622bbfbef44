// SPDX-License-Identifier: Apache-2.0
// The steering loop of one buffer: window in, setting out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/guard.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

struct ControllerOptions {
  TriggerOptions trigger;  ///< check() must pass
  GuardOptions guard;
  Breaker::Options breaker;
  double evaluator_half_life = 0.5;  ///< windows; labels look back over a horizon already
  double cache_similarity = 0.999;   ///< of the decision cache
  std::uint64_t cache_expiry = 32;   ///< windows
  std::size_t cache_size = 0;        ///< entries; 0: off
  std::uint32_t lag = 0;  ///< windows between a settlement's end and the first one under what it settled
  std::string run = {}, graph = {};  ///< for the memory
};

/// One line of decisions.jsonl.
struct DecisionRecord {
  std::uint64_t sequence = 0;  ///< of the window at whose end this was settled
  Verdict verdict = Verdict::kNoTrigger;
  std::optional<Decision> decision = std::nullopt;  ///< what the verdict is on, when it is on one
  bool from_cache = false;
  std::size_t applied = 0;      ///< the action that holds next
  std::uint64_t staleness = 0;  ///< windows between the one decided on and this one
  std::string why = {};         ///< there is no answer (kNoAnswer, kBreakerOpen): the last failure
};
/// {"sequence", "verdict", "applied": name, "staleness", "from_cache", "why" where there is a failure, and of
/// a decision "decision":
/// {"sequence", "action": name (null when it isn't in the set), "confidence", "reason", "expected": {"hits",
/// "traffic": increase, decrease or stagnant} or null, "seconds", "from_model", "valid_reply"}}. One line of
/// valid UTF-8, whatever the reason holds.
[[nodiscard]] std::string json_of(const DecisionRecord& record, const ActionSet& actions);

struct ControllerTotals {
  std::uint64_t windows = 0;
  std::uint64_t decisions = 0;      ///< answers and cached ones
  std::uint64_t applied = 0;        ///< verdict kApplied
  std::uint64_t dropped = 0;        ///< decisions with any other verdict but kUnchanged
  std::uint64_t model_calls = 0;    ///< answers that a model was called for
  std::uint64_t valid_replies = 0;  ///< of those
  std::uint64_t cache_hits = 0, breaker_openings = 0;
  std::uint64_t predictions =
      0;  ///< expectations of decisions that were let through and whose effect was seen
  std::uint64_t right_directions = 0;               ///< of those, right on both counts
  std::uint64_t staleness_windows = 0;              ///< summed over decisions
  std::array<std::uint64_t, kVerdicts> verdicts{};  ///< settled windows by verdict
  std::vector<double> latencies;                    ///< seconds of each answer, the newest kMaxLatencies
  std::uint64_t memory_errors = 0;                  ///< windows that the memory refused
  std::string memory_error;                         ///< the first of them
};
inline constexpr std::size_t kMaxLatencies = 4096;

/// Everything but threads: what to do with a finished window, and with an answer. A pure state machine, so
/// the simulator and live runs steer by the same code. Not thread-safe.
///
/// One question is out at a time. One that is not answered within guard.stale_after windows is given up: its
/// answer would be dropped anyhow. A decision holds until the next one is let through, the decider fails
/// (error, refused decision, open breaker), or the evaluator turns against it; then the fallback holds: the
/// present action while it is within what the evaluator tolerates of the best one (a change costs something
/// too, and near equals are not worth it), else the best one. With the evaluator off the fallback is the
/// present action, or the set's fallback when the breaker is open. An action that replaces holds for one
/// window: without being chosen again, the same setting without replacing follows, where the set has it. The
/// set's cool-down holds for decisions, not for leaving what is harmful. So with the evaluator on no action
/// ever holds that is_harmful().
class Controller {
 public:
  /// Everything referred to outlives the controller; `memory` may be null.
  Controller(const ActionSet& actions, Memory* memory, const ControllerOptions& options);
  /// As finish().
  ~Controller();

  /// A note of an operator or a scheduler, for the next report.
  void note(std::string event);
  /// A window ended, and counterfactual replay has labelled it; windows in order. Returns whether the decider
  /// should be asked about it now (question() then holds what to ask).
  [[nodiscard]] bool window_ended(const LabelledWindow& labelled, TimePoint now);
  /// The last window, and the same in words.
  [[nodiscard]] const Window& question() const;
  [[nodiscard]] const Report& report() const;
  /// The decider's answer to the question of before, whenever it comes. A decision on another window than the
  /// one asked about is stale; an error is taken as the answer to the question that is out.
  void answered(const Result<Decision>& decision, TimePoint now);
  /// At a window's border: the action that holds for the next window, with its record.
  [[nodiscard]] DecisionRecord settle(TimePoint now);
  /// The run ends: remembers the windows whose effect was not seen. No window may follow.
  void finish();

  [[nodiscard]] std::size_t action() const;
  [[nodiscard]] const ControllerTotals& totals() const;
  [[nodiscard]] const Breaker& breaker() const;
  [[nodiscard]] const Evaluator& evaluator() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
