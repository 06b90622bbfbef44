// SPDX-License-Identifier: Apache-2.0
// The steering loop of one buffer: window in, setting out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
  TriggerOptions trigger;
  GuardOptions guard;
  Breaker::Options breaker;
  double evaluator_half_life = 2;   ///< windows
  double cache_similarity = 0.999;  ///< of the decision cache
  std::uint64_t cache_expiry = 32;  ///< windows
  std::size_t cache_size = 0;       ///< entries; 0: off
  bool follow_fallback = true;      ///< without a decision, go by the evaluator's best action; false: stay
  std::string run, graph;           ///< for the memory
};

/// One line of decisions.jsonl.
struct DecisionRecord {
  std::uint64_t sequence = 0;  ///< of the window at whose end this was decided
  Verdict verdict = Verdict::kNoTrigger;
  Decision decision;  ///< when there was one
  bool from_cache = false;
  std::size_t applied = 0;      ///< the action that holds next
  std::uint64_t staleness = 0;  ///< windows between the one decided on and this one
};
[[nodiscard]] std::string json_of(const DecisionRecord& record, const ActionSet& actions);

struct ControllerTotals {
  std::uint64_t windows = 0, decisions = 0, applied = 0, dropped = 0, model_calls = 0, valid_replies = 0;
  std::uint64_t cache_hits = 0, breaker_openings = 0, predictions = 0, right_directions = 0;
  std::uint64_t staleness_windows = 0;  ///< summed over decisions
  std::vector<double> latencies;        ///< seconds of each decision, the newest 4096
};

/// Everything but threads: what to do with a finished window, and with an answer. A pure state machine, so
/// the simulator and live runs steer by the same code. Not thread-safe.
class Controller {
 public:
  /// Everything referred to outlives the controller; `memory` may be null.
  Controller(const ActionSet& actions, Memory* memory, const ControllerOptions& options);
  ~Controller();

  /// A window ended, and counterfactual replay has labelled it. Returns whether the decider should be asked
  /// about it now (question() then holds what to ask).
  [[nodiscard]] bool window_ended(const LabelledWindow& labelled, TimePoint now);
  [[nodiscard]] const Window& question() const;
  [[nodiscard]] const Report& report() const;
  /// The decider's answer to the question of before, whenever it comes.
  void answered(const Result<Decision>& decision, TimePoint now);
  /// At a window's border: the action that holds for the next window, with its record.
  [[nodiscard]] DecisionRecord settle(TimePoint now);

  [[nodiscard]] std::size_t action() const;
  [[nodiscard]] const ControllerTotals& totals() const;
  [[nodiscard]] const Breaker& breaker() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
