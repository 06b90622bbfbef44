// SPDX-License-Identifier: Apache-2.0
// decisions.jsonl read again: what was decided, what came of it, what else it would have cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/guard.h"
#include "rudder/steer/memory.h"

namespace rudder::steer {

/// One line, as json_of(DecisionRecord) writes it. A decision's action that its line names nothing is
/// kMaxActions.
struct LoggedDecision {
  std::uint64_t sequence = 0;
  std::size_t applied = 0;
  std::optional<Verdict> verdict = std::nullopt;  ///< nothing: the line has none
  std::optional<Decision> decision = std::nullopt;
  bool from_cache = false;
  std::uint64_t staleness = 0;
  std::string why = {};  ///< there was no answer
};

/// All lines of a log. A last line without its end was being written when the run broke off and does not
/// count; members that are not known are passed over. kInvalidData names the line: no decision (only
/// "sequence" and "applied" are needed), an action or a verdict that there is not, a number out of range,
/// windows out of order.
[[nodiscard]] Result<std::vector<LoggedDecision>> parse_decisions(std::string_view text,
                                                                  const ActionSet& actions);
/// Of a file of at most 256 MiB; errors name it.
[[nodiscard]] Result<std::vector<LoggedDecision>> read_decisions(const std::filesystem::path& path,
                                                                 const ActionSet& actions);

/// What actions would have cost in the window behind a decision, by counterfactual replay.
struct DecisionCosts {
  double applied = 0;                            ///< of the action that held
  std::optional<double> decided = std::nullopt;  ///< of the decision's, where there is one of the set
  double best = 0, fallback = 0;                 ///< of the least expensive one and of the set's fallback
};
/// Parallel to the log; nothing where the run's windows do not hold the one behind. `run`: of that run alone;
/// of windows of the same number the last one counts.
[[nodiscard]] std::vector<std::optional<DecisionCosts>> costs_of(std::span<const LoggedDecision> log,
                                                                 std::span<const Experience> run,
                                                                 const ActionSet& actions);

struct LogSummary {
  std::uint64_t windows = 0, without_verdict = 0;
  std::array<std::uint64_t, kVerdicts> verdicts{};
  std::uint64_t decisions = 0, from_cache = 0, model_calls = 0, valid_replies = 0;
  std::vector<double> latencies;  ///< seconds, of decisions that were not from the cache
  std::uint64_t staleness_windows = 0, most_stale = 0;
  // Of the windows whose costs are known.
  std::uint64_t labelled = 0;
  std::uint64_t right = 0;  ///< nothing would have cost less than what held
  double applied_cost = 0, best_cost = 0, fallback_cost = 0;
  // Of the decisions among them.
  std::uint64_t labelled_decisions = 0, right_decisions = 0;
  double decided_cost = 0, cost_behind_decisions = 0;  ///< had each been obeyed; of what held instead
};
/// `costs` is parallel to the log. A decision counts once, where it was judged.
[[nodiscard]] LogSummary summarize(std::span<const LoggedDecision> log,
                                   std::span<const std::optional<DecisionCosts>> costs);

}  // namespace rudder::steer
