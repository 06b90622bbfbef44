// SPDX-License-Identifier: Apache-2.0
#include "cli/sched_result.h"

#include <utility>

#include <fmt/format.h>

namespace rudder::cli {
namespace {

Json distribution_json(const sched::Distribution& values) {
  return {{"mean", values.mean}, {"p50", values.p50}, {"p95", values.p95}, {"max", values.max}};
}

double violations_per_thousand(const sched::SimMetrics& metrics) {
  return metrics.zone_admissions == 0 ? 0.0
                                      : 1000.0 * static_cast<double>(metrics.zone_violations) /
                                            static_cast<double>(metrics.zone_admissions);
}

std::string hours(double seconds) {
  return fmt::format("{:.2f} h", seconds / 3600);
}

}  // namespace

Json metrics_json(const sched::SimMetrics& metrics) {
  Json delay = distribution_json(metrics.queue_delay);
  Json by_class = Json::object();
  for (const sched::ClassDelay& one : metrics.queue_delay_by_class) {
    Json entry = distribution_json(one.delay);
    entry["jobs"] = one.delay.count;
    by_class[one.name] = std::move(entry);
  }
  delay["by_class"] = std::move(by_class);
  return {{"jobs", metrics.jobs},
          {"finished", metrics.finished},
          {"rejected", metrics.rejected},
          {"skipped", metrics.skipped},
          {"allocation", metrics.allocation},
          {"retention", metrics.retention ? Json(*metrics.retention) : Json()},
          {"makespan", metrics.makespan},
          {"jct", distribution_json(metrics.jct)},
          {"queue_delay", std::move(delay)},
          {"slowdown", distribution_json(metrics.slowdown)},
          {"preemptions", metrics.preemptions},
          {"preempted_node_minutes", metrics.preempted_node_minutes},
          {"node_failures", metrics.node_failures},
          {"fragmentation", metrics.fragmentation},
          {"objective_ratio", {{"mean", metrics.objective_ratio}, {"max", metrics.objective_ratio_max}}},
          {"zones",
           {{"count", metrics.zones},
            {"admissions", metrics.zone_admissions},
            {"violations", metrics.zone_violations},
            {"violations_per_1000", violations_per_thousand(metrics)}}}};
}

Json starts_json(const sched::Cluster& cluster, const sched::Trace& trace, const sched::SimResult& result) {
  Json starts = Json::array();
  for (const sched::RunRecord& run : result.runs) {
    Json nodes = Json::array();
    for (const sched::HostId host : run.hosts) {
      nodes.push_back(cluster.names[static_cast<std::size_t>(host)]);
    }
    starts.push_back({{"job", trace.jobs[static_cast<std::size_t>(run.job)].spec.name},
                      {"time", run.start},
                      {"nodes", std::move(nodes)}});
  }
  return starts;
}

Json scores_json(const sched::JctScores& scores) {
  return {{"train_jobs", scores.train_jobs},
          {"test_jobs", scores.test_jobs},
          {"rmse_bins", scores.rmse_bins},
          {"rmse_bins_constant", scores.rmse_bins_constant},
          {"rmse_log2_minutes", scores.rmse_log2_minutes},
          {"rmse_log2_minutes_constant", scores.rmse_log2_minutes_constant},
          {"quantile", scores.quantile},
          {"coverage", scores.coverage},
          {"limit_ratio", scores.limit_ratio}};
}

std::string metrics_text(const sched::SimMetrics& metrics) {
  std::string text = fmt::format(
      "{} of {} jobs finished ({} rejected), makespan {}\nallocation {:.1f} %, fragmentation {:.1f} %\n"
      "completion mean {}, p50 {}, p95 {}; slowdown mean {:.1f}\n",
      metrics.finished, metrics.jobs, metrics.rejected, hours(metrics.makespan), metrics.allocation * 100,
      metrics.fragmentation * 100, hours(metrics.jct.mean), hours(metrics.jct.p50), hours(metrics.jct.p95),
      metrics.slowdown.mean);
  for (const sched::ClassDelay& one : metrics.queue_delay_by_class) {
    if (one.delay.count > 0) {
      text += fmt::format("queue delay {}: mean {}, p50 {}, p95 {} ({} jobs)\n", one.name,
                          hours(one.delay.mean), hours(one.delay.p50), hours(one.delay.p95), one.delay.count);
    }
  }
  text += fmt::format("preemptions {} ({:.0f} node-minutes lost), gangs that lost a host {}\n",
                      metrics.preemptions, metrics.preempted_node_minutes, metrics.node_failures);
  text += fmt::format("zones {}: retention {}, {} admissions, {:.1f} violations in 1000\n", metrics.zones,
                      metrics.retention ? fmt::format("{:.1f} %", *metrics.retention * 100) : "-",
                      metrics.zone_admissions, violations_per_thousand(metrics));
  text += fmt::format("J / lower bound of gangs: mean {:.4f}, worst {:.3f}", metrics.objective_ratio,
                      metrics.objective_ratio_max);
  return text;
}

std::string scores_text(const sched::JctScores& scores) {
  return fmt::format(
      "{} jobs learned from, {} predicted\nRMSE {:.2f} classes (constant: {:.2f}), {:.2f} log2 minutes "
      "(constant: "
      "{:.2f})\nquantile {}: {:.1f} % of jobs ran no longer; on average it is {:.0f} % of the user's limit",
      scores.train_jobs, scores.test_jobs, scores.rmse_bins, scores.rmse_bins_constant,
      scores.rmse_log2_minutes, scores.rmse_log2_minutes_constant, scores.quantile, scores.coverage * 100,
      scores.limit_ratio * 100);
}

}  // namespace rudder::cli
