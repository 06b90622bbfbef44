// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"
#include "rudder/metrics/quantile.h"
#include "rudder/report/table.h"
#include "rudder/steer/decision_log.h"
#include "rudder/steer/memory.h"

#include "cli/command.h"
#include "cli/experience_input.h"

namespace rudder::cli {
namespace {

using steer::DecisionCosts;
using steer::LoggedDecision;

constexpr std::size_t kReasonColumns = 48;  // bytes of a reason in the table

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

class SteerReplay final : public Command {
 public:
  SteerReplay() {
    options().text("actions", "NAME", actions_name_,
                   "The run's action set: replace, or a scenario that has the same");
    options().path("memory", memory_, "Store of the run's labelled windows; says what each decision cost");
    options().text("run", "NAME", run_, "Which run of the store; default: the only one");
    options().integer<std::size_t>("rows", rows_, 0, 1'000'000, "Newest windows shown in the table");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("FILE", file_, "A run's decisions.jsonl");
    arguments.footer(
        "Costs are of the window behind each decision, simulated by counterfactual replay when the run was "
        "made.\nTo steer a simulation by the same decisions: rudder steer eval --decider replay:FILE.");
  }

  Result<int> run(const Program&) override {
    if (!run_.empty() && memory_.empty()) {
      return Error{Errc::kInvalidArgument, "--run needs --memory FILE"};
    }
    RUDDER_ASSIGN(actions_, action_set_of(actions_name_));
    RUDDER_ASSIGN(const std::vector<LoggedDecision> log, steer::read_decisions(file_, actions_));
    std::vector<steer::Experience> windows;
    if (!memory_.empty()) {
      RUDDER_ASSIGN(windows, windows_of_run());
    }
    const std::vector<std::optional<DecisionCosts>> costs = steer::costs_of(log, windows, actions_);
    const steer::LogSummary summary = steer::summarize(log, costs);
    if (json()) {
      print_json(result(log, costs, summary));
    } else {
      say(table(log, costs));
      say(text(summary));
    }
    return 0;
  }

 private:
  Result<std::vector<steer::Experience>> windows_of_run() {
    std::error_code error;
    if (!std::filesystem::exists(memory_, error)) {
      return Error{Errc::kNotFound, fmt::format("--memory: there is no file {}", memory_.string())};
    }
    RUDDER_ASSIGN(const std::unique_ptr<steer::Memory> memory, steer::Memory::open(memory_));
    RUDDER_ASSIGN(std::vector<steer::Experience> all, memory->all(actions_));
    std::vector<std::string_view> runs;
    for (const steer::Experience& each : all) {
      if (std::find(runs.begin(), runs.end(), each.run) == runs.end()) {
        runs.push_back(each.run);
      }
    }
    if (run_.empty() && runs.size() != 1) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: windows of {} runs of action set {}; --run NAME says which",
                               memory_.string(), runs.size(), actions_.key())};
    }
    const std::string wanted = run_.empty() ? std::string(runs.front()) : run_;
    if (std::find(runs.begin(), runs.end(), wanted) == runs.end()) {
      const std::string near = nearest_name(wanted, runs);
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: no run '{}' of action set {}{}", memory_.string(), wanted, actions_.key(),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", printable(near)))};
    }
    std::erase_if(all, [&](const steer::Experience& each) { return each.run != wanted; });
    return all;
  }

  [[nodiscard]] std::string name_of_action(std::size_t action) const {
    return action < actions_.actions.size() ? actions_.actions[action].name : "?";
  }
  static std::string_view name_of_verdict(const LoggedDecision& logged) {
    return logged.verdict ? steer::name_of(*logged.verdict) : "-";
  }

  [[nodiscard]] std::string table(const std::vector<LoggedDecision>& log,
                                  const std::vector<std::optional<DecisionCosts>>& costs) const {
    report::TextTable table({"window", "verdict", "decided", "held next", "stale", "took, ms", "cost, s",
                             "best, s", "fallback, s", "reason"});
    for (std::size_t i = log.size() - std::min(rows_, log.size()); i < log.size(); ++i) {
      const LoggedDecision& logged = log[i];
      const auto cost = [&](double DecisionCosts::*part) {
        return costs[i] ? fmt::format("{:.4f}", (*costs[i]).*part) : std::string("-");
      };
      table.add({std::to_string(logged.sequence), std::string(name_of_verdict(logged)),
                 logged.decision ? name_of_action(logged.decision->action) : "-",
                 name_of_action(logged.applied), std::to_string(logged.staleness),
                 logged.decision ? fmt::format("{:.1f}", 1e3 * logged.decision->seconds) : "-",
                 cost(&DecisionCosts::applied), cost(&DecisionCosts::best), cost(&DecisionCosts::fallback),
                 one_line(logged.decision ? logged.decision->reason : logged.why, kReasonColumns)});
    }
    return table.text();
  }

  static std::string verdicts_text(const steer::LogSummary& summary) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < steer::kVerdicts; ++i) {
      if (summary.verdicts[i] > 0) {
        parts.push_back(
            fmt::format("{} {}", summary.verdicts[i], steer::name_of(static_cast<steer::Verdict>(i))));
      }
    }
    if (summary.without_verdict > 0) {
      parts.push_back(fmt::format("{} without a verdict", summary.without_verdict));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  static std::string text(const steer::LogSummary& summary) {
    std::string lines =
        fmt::format("{} windows: {}\n{} decisions, {} of them from the cache", summary.windows,
                    verdicts_text(summary), summary.decisions, summary.from_cache);
    if (summary.model_calls > 0) {
      lines += fmt::format(
          "; {} model calls, {:.1f} % valid replies", summary.model_calls,
          100 * share(static_cast<double>(summary.valid_replies), static_cast<double>(summary.model_calls)));
    }
    if (summary.decisions > 0) {
      lines += fmt::format(
          "; {:.2f} windows stale on average, {} at most",
          share(static_cast<double>(summary.staleness_windows), static_cast<double>(summary.decisions)),
          summary.most_stale);
    }
    if (!summary.latencies.empty()) {
      lines += fmt::format(
          "\na decision took {:.1f} ms in half of the cases, {:.1f} ms in 95 %, {:.1f} ms at most",
          1e3 * metrics::quantile(summary.latencies, 0.5), 1e3 * metrics::quantile(summary.latencies, 0.95),
          1e3 * metrics::quantile(summary.latencies, 1));
    }
    if (summary.labelled == 0) {
      return lines + "\nno costs: the store has no window behind one of these";
    }
    lines += fmt::format(
        "\nsimulated costs of {} windows: {:.4f} s as it held, {:+.2f} % over the best action of each, "
        "{:+.2f} % "
        "over the fallback; nothing would have been better in {:.1f} %",
        summary.labelled, summary.applied_cost, 100 * (share(summary.applied_cost, summary.best_cost) - 1),
        100 * (share(summary.applied_cost, summary.fallback_cost) - 1),
        100 * share(static_cast<double>(summary.right), static_cast<double>(summary.labelled)));
    if (summary.labelled_decisions > 0) {
      lines += fmt::format(
          "\nof {} decisions {:.1f} % were the best action; obeying all of them would have cost {:+.2f} % "
          "over "
          "what held",
          summary.labelled_decisions,
          100 * share(static_cast<double>(summary.right_decisions),
                      static_cast<double>(summary.labelled_decisions)),
          100 * (share(summary.decided_cost, summary.cost_behind_decisions) - 1));
    }
    return lines;
  }

  [[nodiscard]] Json row_json(const LoggedDecision& logged, const std::optional<DecisionCosts>& costs) const {
    Json row = {{"sequence", logged.sequence},
                {"verdict", logged.verdict ? Json(steer::name_of(*logged.verdict)) : Json(nullptr)},
                {"applied", name_of_action(logged.applied)},
                {"staleness", logged.staleness},
                {"from_cache", logged.from_cache},
                {"decided", nullptr},
                {"cost", nullptr},
                {"decided_cost", nullptr},
                {"best_cost", nullptr},
                {"fallback_cost", nullptr}};
    if (logged.decision) {
      const std::size_t action = logged.decision->action;
      row["decided"] = action < actions_.actions.size() ? Json(name_of_action(action)) : Json(nullptr);
      row["seconds"] = logged.decision->seconds;
      row["confidence"] = logged.decision->confidence;
      row["reason"] = logged.decision->reason;
    }
    if (!logged.why.empty()) {
      row["why"] = logged.why;
    }
    if (costs) {
      row["cost"] = costs->applied;
      row["decided_cost"] = number_or_null(costs->decided);
      row["best_cost"] = costs->best;
      row["fallback_cost"] = costs->fallback;
    }
    return row;
  }

  [[nodiscard]] Json result(const std::vector<LoggedDecision>& log,
                            const std::vector<std::optional<DecisionCosts>>& costs,
                            const steer::LogSummary& summary) const {
    Json verdicts = Json::object();
    for (std::size_t i = 0; i < steer::kVerdicts; ++i) {
      verdicts[std::string(steer::name_of(static_cast<steer::Verdict>(i)))] = summary.verdicts[i];
    }
    const auto quantile = [&](double at) {
      return summary.latencies.empty() ? Json(nullptr) : Json(metrics::quantile(summary.latencies, at));
    };
    Json rows = Json::array();
    for (std::size_t i = 0; i < log.size(); ++i) {
      rows.push_back(row_json(log[i], costs[i]));
    }
    return {{"action_set", actions_.key()},
            {"windows", summary.windows},
            {"verdicts", std::move(verdicts)},
            {"decisions", summary.decisions},
            {"from_cache", summary.from_cache},
            {"model_calls", summary.model_calls},
            {"valid_replies", summary.valid_replies},
            {"staleness_windows", summary.staleness_windows},
            {"most_stale", summary.most_stale},
            {"latency_p50", quantile(0.5)},
            {"latency_p95", quantile(0.95)},
            {"latency_max", quantile(1)},
            {"labelled", summary.labelled},
            {"right", summary.right},
            {"simulated_cost", summary.applied_cost},
            {"best_cost", summary.best_cost},
            {"fallback_cost", summary.fallback_cost},
            {"labelled_decisions", summary.labelled_decisions},
            {"right_decisions", summary.right_decisions},
            {"decided_cost", summary.decided_cost},
            {"cost_behind_decisions", summary.cost_behind_decisions},
            {"rows", std::move(rows)}};
  }

  std::filesystem::path file_, memory_;
  std::string actions_name_ = "replace";
  std::string run_;
  std::size_t rows_ = 20;
  steer::ActionSet actions_;
};

}  // namespace

std::unique_ptr<Command> make_steer_replay() {
  return std::make_unique<SteerReplay>();
}

}  // namespace rudder::cli
