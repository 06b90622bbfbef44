// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/decision_log.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

namespace rudder::steer {
namespace {

using Value = nlohmann::json;

constexpr std::size_t kMostLogBytes = std::size_t{256} << 20;
constexpr std::size_t kMostLoggedReason = 400;  // bytes that are kept

Error no_log(const std::string& what) {
  return {Errc::kInvalidData, what};
}

/// null where there is none. Never copied or printed: what is nested deep enough would take all of the stack.
const Value& field(const Value& json, const char* key) {
  static const Value none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

Result<std::size_t> action_of(const std::string& name, const ActionSet& actions) {
  const std::size_t found = actions.find(name);
  if (found < actions.actions.size()) {
    return found;
  }
  std::vector<std::string_view> names;
  for (const Action& each : actions.actions) {
    names.push_back(each.name);
  }
  const std::string near = nearest_name(name, names);
  return no_log(fmt::format("action '{}' is not in the set '{}' ({})", printable(name), actions.name,
                            near.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                         : fmt::format("did you mean '{}'?", near)));
}

Result<std::optional<Verdict>> verdict_of(const Value& json) {
  if (json.is_null()) {
    return std::optional<Verdict>();
  }
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    if (json == name_of(static_cast<Verdict>(i))) {
      return std::optional(static_cast<Verdict>(i));
    }
  }
  return no_log(json.is_string() ? fmt::format("'{}' is no verdict", printable(json.get<std::string>()))
                                 : std::string("'verdict' is no name"));
}

/// Absent or null (a number that was not finite): 0.
Result<double> number_of(const Value& json, const char* key, double most) {
  const Value& value = field(json, key);
  if (value.is_null()) {
    return 0.0;
  }
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= 0 && number <= most)) {
    return no_log(fmt::format("'{}' is not a number within 0..{}", key, most));
  }
  return number;
}

Result<std::uint64_t> count_of(const Value& json, const char* key) {
  const Value& value = field(json, key);
  if (!value.is_null() && !value.is_number_unsigned()) {
    return no_log(fmt::format("'{}' is not a whole number", key));
  }
  return value.is_null() ? 0 : value.get<std::uint64_t>();
}

Result<bool> flag_of(const Value& json, const char* key, bool usual) {
  const Value& value = field(json, key);
  if (!value.is_null() && !value.is_boolean()) {
    return no_log(fmt::format("'{}' is neither true nor false", key));
  }
  return value.is_null() ? usual : value.get<bool>();
}

Result<std::optional<Expected>> expected_in(const Value& json) {
  if (json.is_null()) {
    return std::optional<Expected>();
  }
  const auto direction = [&](const char* key) -> std::optional<Direction> {
    for (const Direction each : {Direction::kDecrease, Direction::kStagnant, Direction::kIncrease}) {
      if (json.is_object() && field(json, key) == name_of(each)) {
        return each;
      }
    }
    return std::nullopt;
  };
  const auto hits = direction("hits");
  const auto traffic = direction("traffic");
  if (!hits || !traffic) {
    return no_log("'expected' does not say increase, decrease or stagnant of hits and traffic");
  }
  return std::optional(Expected{*hits, *traffic});
}

Result<Decision> decision_of(const Value& json, const ActionSet& actions) {
  constexpr double kMostSeconds = 1e9;
  if (!json.is_object()) {
    return no_log("'decision' is not an object");
  }
  Decision decision;
  RUDDER_ASSIGN(decision.sequence, count_of(json, "sequence"));
  decision.action = kMaxActions;
  if (const Value& action = field(json, "action"); action.is_string()) {
    RUDDER_ASSIGN(decision.action, action_of(action.get<std::string>(), actions));
  } else if (!action.is_null()) {
    return no_log("the decision's 'action' is no name");
  }
  RUDDER_ASSIGN(decision.confidence, number_of(json, "confidence", 1));
  if (const Value& reason = field(json, "reason"); reason.is_string()) {
    decision.reason = one_line(reason.get<std::string>(), kMostLoggedReason);
  }
  RUDDER_ASSIGN(decision.expected, expected_in(field(json, "expected")));
  RUDDER_ASSIGN(decision.seconds, number_of(json, "seconds", kMostSeconds));
  RUDDER_ASSIGN(decision.from_model, flag_of(json, "from_model", false));
  RUDDER_ASSIGN(decision.valid_reply, flag_of(json, "valid_reply", true));
  return decision;
}

Result<LoggedDecision> read_logged(std::string_view line, const ActionSet& actions) {
  const Value json = Value::parse(line, nullptr, false);
  if (!json.is_object()) {
    return no_log("not a decision with 'sequence' and 'applied'");
  }
  const Value& sequence = field(json, "sequence");
  const Value& applied = field(json, "applied");
  if (!sequence.is_number_unsigned() || !applied.is_string()) {
    return no_log("not a decision with 'sequence' and 'applied'");
  }
  LoggedDecision logged;
  logged.sequence = sequence.get<std::uint64_t>();
  RUDDER_ASSIGN(logged.applied, action_of(applied.get<std::string>(), actions));
  RUDDER_ASSIGN(logged.verdict, verdict_of(field(json, "verdict")));
  RUDDER_ASSIGN(logged.from_cache, flag_of(json, "from_cache", false));
  RUDDER_ASSIGN(logged.staleness, count_of(json, "staleness"));
  if (const Value& why = field(json, "why"); why.is_string()) {
    logged.why = one_line(why.get<std::string>(), kMostLoggedReason);
  }
  if (const Value& decision = field(json, "decision"); !decision.is_null()) {
    RUDDER_ASSIGN(logged.decision, decision_of(decision, actions));
  }
  return logged;
}

}  // namespace

Result<std::vector<LoggedDecision>> parse_decisions(std::string_view text, const ActionSet& actions) {
  std::vector<LoggedDecision> log;
  std::size_t number = 1;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1, ++number) {
    auto logged = read_logged(text.substr(begin, end - begin), actions);
    if (!logged) {
      return logged.error().in(fmt::format("line {}", number));
    }
    if (!log.empty() && logged->sequence <= log.back().sequence) {
      return no_log(fmt::format("line {}: window {} comes after window {}", number, logged->sequence,
                                log.back().sequence));
    }
    log.push_back(std::move(logged).value());
  }
  return log;
}

Result<std::vector<LoggedDecision>> read_decisions(const std::filesystem::path& path,
                                                   const ActionSet& actions) {
  RUDDER_ASSIGN(const std::string text, read_text(path, kMostLogBytes));
  auto log = parse_decisions(text, actions);
  if (!log) {
    return Error{log.error().code, fmt::format("{}, {}", printable(path.string()), log.error().message)};
  }
  return log;
}

std::vector<std::optional<DecisionCosts>> costs_of(std::span<const LoggedDecision> log,
                                                   std::span<const Experience> run,
                                                   const ActionSet& actions) {
  std::map<std::uint64_t, const Experience*> windows;
  for (const Experience& each : run) {
    windows[each.sequence] = &each;
  }
  std::vector<std::optional<DecisionCosts>> all;
  for (const LoggedDecision& logged : log) {
    const auto behind = windows.upper_bound(logged.sequence);
    if (behind == windows.end() || behind->first - logged.sequence != 1 ||
        behind->second->costs.size() != actions.actions.size()) {
      all.emplace_back();
      continue;
    }
    const std::vector<double>& costs = behind->second->costs;
    DecisionCosts known;
    known.applied = costs[logged.applied];
    known.best = *std::min_element(costs.begin(), costs.end());
    known.fallback = costs[actions.fallback];
    if (logged.decision && logged.decision->action < costs.size()) {
      known.decided = costs[logged.decision->action];
    }
    all.emplace_back(known);
  }
  return all;
}

LogSummary summarize(std::span<const LoggedDecision> log,
                     std::span<const std::optional<DecisionCosts>> costs) {
  LogSummary summary;
  const Decision* last = nullptr;  // a decision that was withdrawn later stands in two lines
  for (std::size_t i = 0; i < log.size(); ++i) {
    const LoggedDecision& logged = log[i];
    ++summary.windows;
    if (logged.verdict) {
      ++summary.verdicts[static_cast<std::size_t>(*logged.verdict)];
    } else {
      ++summary.without_verdict;
    }
    const bool anew = logged.decision && (last == nullptr || last->sequence != logged.decision->sequence);
    if (anew) {
      last = &*logged.decision;
      ++summary.decisions;
      summary.from_cache += logged.from_cache ? 1U : 0U;
      summary.model_calls += last->from_model ? 1U : 0U;
      summary.valid_replies += last->from_model && last->valid_reply ? 1U : 0U;
      summary.staleness_windows += logged.staleness;
      summary.most_stale = std::max(summary.most_stale, logged.staleness);
      if (!logged.from_cache) {
        summary.latencies.push_back(last->seconds);
      }
    }
    if (!costs[i]) {
      continue;
    }
    ++summary.labelled;
    summary.right += costs[i]->applied <= costs[i]->best ? 1U : 0U;
    summary.applied_cost += costs[i]->applied;
    summary.best_cost += costs[i]->best;
    summary.fallback_cost += costs[i]->fallback;
    if (anew && costs[i]->decided) {
      ++summary.labelled_decisions;
      summary.right_decisions += *costs[i]->decided <= costs[i]->best ? 1U : 0U;
      summary.decided_cost += *costs[i]->decided;
      summary.cost_behind_decisions += costs[i]->applied;
    }
  }
  return summary;
}

}  // namespace rudder::steer
