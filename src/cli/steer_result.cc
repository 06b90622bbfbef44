// SPDX-License-Identifier: Apache-2.0
#include "cli/steer_result.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/report/table.h"

namespace rudder::cli {
namespace {

std::string percent(double share, double interval) {
  return fmt::format("{:+.1f} ± {:.1f} %", 100 * share, 100 * interval);
}
std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

std::string named(const sim::EvalRow& row) {
  return row.decider + (row.guarded ? "" : ", unguarded");
}

std::string cost_table(const std::vector<sim::EvalRow>& rows) {
  report::TextTable table({"scenario", "decider", "cost, s", "best fixed", "its cost", "oracle",
                           "over best fixed", "over oracle", "decisions", "best", "applied", "dropped"});
  for (const sim::EvalRow& row : rows) {
    table.add({row.scenario, named(row), fmt::format("{:.3f} ± {:.3f}", row.cost, row.cost_interval),
               row.best_fixed, fmt::format("{:.3f}", row.best_fixed_cost),
               fmt::format("{:.3f}", row.oracle_cost),
               percent(row.regret_best_fixed, row.regret_best_fixed_interval),
               percent(row.regret_oracle, row.regret_oracle_interval), std::to_string(row.decisions),
               percent(row.best_choices), std::to_string(row.applied), std::to_string(row.dropped)});
  }
  return table.text();
}

std::string parts_table(const std::vector<sim::EvalRow>& rows) {
  report::TextTable table({"scenario", "decider", "over oracle", "unforeseen", "late", "decider's choice",
                           "guard's choice", "cooling down", "carried over"});
  const auto share = [](double value) { return fmt::format("{:+.2f} %", 100 * value); };
  for (const sim::EvalRow& row : rows) {
    const sim::RegretParts& parts = row.parts;
    table.add({row.scenario, named(row), share(row.regret_oracle), share(parts.unforeseen), share(parts.late),
               share(parts.decider), share(parts.evaluator), share(parts.cooling), share(parts.carried)});
  }
  return table.text();
}

/// A line for each decider and reason, with the scenarios.
std::vector<std::string> left_out_lines(const std::vector<sim::LeftOut>& left_out) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> scenarios;
  for (const sim::LeftOut& each : left_out) {
    scenarios[{each.decider, each.why}].push_back(each.scenario);
  }
  std::vector<std::string> lines;
  for (auto& [what, names] : scenarios) {
    names.erase(std::unique(names.begin(), names.end()), names.end());
    lines.push_back(fmt::format("left out on {}: {}", fmt::join(names, ", "), what.second));
  }
  return lines;
}

Json parts_json(const sim::RegretParts& parts) {
  return {{"unforeseen", parts.unforeseen}, {"late", parts.late},       {"decider", parts.decider},
          {"guard", parts.evaluator},       {"cooling", parts.cooling}, {"carried", parts.carried}};
}

}  // namespace

std::string steer_text(const sim::Evaluation& result, std::size_t seeds) {
  std::string text = cost_table(result.rows) +
                     fmt::format(
                         "simulated step time, {} seeds; ± is half of the 95 % interval of the mean\n\n"
                         "where the time above the oracle's went, as shares of the oracle's\n",
                         seeds) +
                     parts_table(result.rows);
  for (const std::string& line : left_out_lines(result.left_out)) {
    text += "\n" + line;
  }
  return text;
}

Json steer_json(const sim::Evaluation& result) {
  Json rows = Json::array();
  for (const sim::EvalRow& row : result.rows) {
    rows.push_back({{"scenario", row.scenario},
                    {"decider", row.decider},
                    {"guarded", row.guarded},
                    {"cost", row.cost},
                    {"best_fixed", row.best_fixed},
                    {"best_fixed_cost", row.best_fixed_cost},
                    {"oracle_cost", row.oracle_cost},
                    {"regret_best_fixed", row.regret_best_fixed},
                    {"regret_oracle", row.regret_oracle},
                    {"regret_parts", parts_json(row.parts)},
                    {"best_choices", number_or_null(row.best_choices)},
                    {"valid_rate", number_or_null(row.valid_rate)},
                    {"first_try_direction", number_or_null(row.first_try_direction)},
                    {"decisions", row.decisions},
                    {"applied", row.applied},
                    {"model_calls", row.model_calls},
                    {"dropped", row.dropped},
                    {"latency_p50", number_or_null(row.latency_p50)},
                    {"latency_p95", number_or_null(row.latency_p95)}});
  }
  Json left_out = Json::array();
  for (const sim::LeftOut& each : result.left_out) {
    left_out.push_back({{"scenario", each.scenario}, {"decider", each.decider}, {"why", each.why}});
  }
  return {{"rows", std::move(rows)}, {"left_out", std::move(left_out)}};
}

report::SteerReport steer_report(const sim::Evaluation& result, std::string command, std::string version) {
  report::SteerReport report;
  report.command = std::move(command);
  report.version = std::move(version);
  report.left_out = left_out_lines(result.left_out);
  for (const sim::EvalWorld& world : result.worlds) {
    report::SteerScenario scenario;
    scenario.name = world.scenario;
    scenario.help = world.help;
    scenario.graph = world.graph;
    scenario.seed = world.seed;
    scenario.window = world.window;
    scenario.actions = world.actions;
    for (const sim::Phase& phase : world.phases) {
      scenario.phases.push_back({phase.first / world.window, phase.name});
    }
    scenario.best_fixed = {"best fixed", world.best_fixed.by_window, world.best_fixed.actions};
    scenario.oracle = {"oracle", world.oracle.by_window, world.oracle.actions};
    for (const sim::EvalRow& row : result.rows) {
      if (row.scenario == world.scenario) {
        const sim::SteeredRun& run = row.runs.front();
        scenario.rows.push_back({named(row), row.cost, row.best_fixed, row.best_fixed_cost, row.oracle_cost,
                                 row.regret_best_fixed, row.regret_best_fixed_interval, row.regret_oracle,
                                 row.regret_oracle_interval, row.decisions, row.applied, row.dropped,
                                 row.best_choices});
        scenario.runs.push_back({named(row), run.by_window, run.actions});
      }
    }
    report.seeds = result.rows.empty() ? 0 : result.rows.front().seeds;
    report.scenarios.push_back(std::move(scenario));
  }
  return report;
}

}  // namespace rudder::cli
