// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "rudder/report/steer_report.h"

#include "report/page.h"

namespace rudder::report {
namespace {

using Json = nlohmann::ordered_json;

Json run_json(const SteerRun& run) {
  return {{"name", run.name}, {"seconds", run.seconds}, {"actions", run.actions}};
}

Json row_json(const SteerRow& row) {
  return {{"decider", row.decider},
          {"cost", row.cost},
          {"best_fixed", row.best_fixed},
          {"best_fixed_cost", row.best_fixed_cost},
          {"oracle_cost", row.oracle_cost},
          {"over_best_fixed", row.over_best_fixed},
          {"over_best_fixed_interval", row.over_best_fixed_interval},
          {"over_oracle", row.over_oracle},
          {"over_oracle_interval", row.over_oracle_interval},
          {"decisions", row.decisions},
          {"applied", row.applied},
          {"dropped", row.dropped},
          {"best_choices", row.best_choices ? Json(*row.best_choices) : Json(nullptr)}};
}

Json scenario_json(const SteerScenario& scenario) {
  Json phases = Json::array();
  for (const SteerPhase& phase : scenario.phases) {
    phases.push_back({{"first", phase.first}, {"name", phase.name}});
  }
  Json rows = Json::array();
  for (const SteerRow& row : scenario.rows) {
    rows.push_back(row_json(row));
  }
  Json runs = Json::array();
  for (const SteerRun& run : scenario.runs) {
    runs.push_back(run_json(run));
  }
  return {{"name", scenario.name},
          {"help", scenario.help},
          {"graph", scenario.graph},
          {"seed", scenario.seed},
          {"window", scenario.window},
          {"actions", scenario.actions},
          {"phases", std::move(phases)},
          {"best_fixed", run_json(scenario.best_fixed)},
          {"oracle", run_json(scenario.oracle)},
          {"rows", std::move(rows)},
          {"runs", std::move(runs)}};
}

}  // namespace

Status write_steer_html(const std::filesystem::path& path, const SteerReport& report,
                        const std::filesystem::path& chart_js) {
  Json scenarios = Json::array();
  for (const SteerScenario& scenario : report.scenarios) {
    scenarios.push_back(scenario_json(scenario));
  }
  return write_page(path, kSteerPage, "Rudder: deciders on scenarios",
                    {{"command", report.command},
                     {"version", report.version},
                     {"seeds", report.seeds},
                     {"left_out", report.left_out},
                     {"scenarios", std::move(scenarios)}},
                    chart_js);
}

}  // namespace rudder::report
