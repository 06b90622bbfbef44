// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "rudder/report/demo_report.h"

#include "report/page.h"

namespace rudder::report {
namespace {

using Json = nlohmann::ordered_json;

Json steering_json(const DemoSteering& steering) {
  Json log = Json::array();
  for (const DemoDecision& decision : steering.log) {
    log.push_back({{"step", decision.step},
                   {"time", decision.time},
                   {"verdict", decision.verdict},
                   {"held", decision.held},
                   {"applied", decision.applied},
                   {"action", decision.action},
                   {"reason", decision.reason},
                   {"hit_rate", decision.hit_rate},
                   {"stall_share", decision.stall_share},
                   {"link_bytes_per_second", decision.link_bytes_per_second}});
  }
  return {{"decider", steering.decider},
          {"model", steering.model},
          {"window", steering.window},
          {"windows", steering.windows},
          {"dropped_windows", steering.dropped_windows},
          {"decisions", steering.decisions},
          {"applied", steering.applied},
          {"rejected", steering.rejected},
          {"no_answers", steering.no_answers},
          {"changes", steering.changes},
          {"model_calls", steering.model_calls},
          {"valid_replies", steering.valid_replies},
          {"staleness", steering.staleness},
          {"latency_p50", steering.latency_p50},
          {"latency_p95", steering.latency_p95},
          {"log", std::move(log)}};
}

Json row_json(const DemoRow& row) {
  return {{"policy", row.policy},
          {"epoch_seconds", row.epoch_seconds},
          {"compute_seconds", row.compute_seconds},
          {"all_reduce_seconds", row.all_reduce_seconds},
          {"stall_seconds", row.stall_seconds},
          {"requests", row.requests},
          {"hits", row.hits},
          {"fetched", row.fetched},
          {"payload_bytes", row.payload_bytes},
          {"wire_bytes", row.wire_bytes},
          {"link_bytes", row.link_bytes},
          {"ratio_to_min", row.ratio_to_min},
          {"val_accuracy", row.val_accuracy},
          {"test_accuracy", row.test_accuracy},
          {"loss_digest", row.loss_digest},
          {"speedup_vs_none", row.speedup_vs_none},
          {"step_losses", row.step_losses},
          {"step_hit_rates", row.step_hit_rates},
          {"steering", row.steering ? steering_json(*row.steering) : Json()}};
}

Json rows_json(const std::vector<DemoRow>& rows) {
  Json list = Json::array();
  for (const DemoRow& row : rows) {
    list.push_back(row_json(row));
  }
  return list;
}

Json report_json(const DemoReport& report) {
  Json scenarios = Json::array();
  for (const DemoScenario& scenario : report.scenarios) {
    scenarios.push_back(
        {{"name", scenario.name}, {"help", scenario.help}, {"rows", rows_json(scenario.rows)}});
  }
  return {{"title", report.title},
          {"machine", report.machine},
          {"link", report.link},
          {"graph", report.graph},
          {"command", report.command},
          {"version", report.version},
          {"parts", report.parts},
          {"epochs", report.epochs},
          {"steps_per_epoch", report.steps_per_epoch},
          {"buffer", report.buffer},
          {"min_fetched", report.min_fetched},
          {"rows", rows_json(report.rows)},
          {"scenarios", std::move(scenarios)},
          {"skipped", report.skipped}};
}

}  // namespace

Status write_demo_html(const std::filesystem::path& path, const DemoReport& report,
                       const std::filesystem::path& chart_js) {
  return write_page(path, kDemoPage, report.title, report_json(report), chart_js);
}

}  // namespace rudder::report
