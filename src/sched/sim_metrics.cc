// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/sim_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

namespace rudder::sched {
namespace {

constexpr double kShortest = 10;  ///< seconds; shorter jobs would dominate every mean of slowdowns
constexpr std::array<std::string_view, 4> kClasses = {"planned", "preemptible", "multi_node", "one_node"};

std::size_t class_of(const JobSpec& job) {
  if (job.planned()) {
    return 0;
  }
  if (job.preemptible) {
    return 1;
  }
  return job.nodes > 1 ? 2 : 3;
}

void measure_jobs(const Trace& trace, const SimResult& result, SimMetrics& metrics) {
  std::vector<double> jct;
  std::vector<double> delay;
  std::vector<double> slowdown;
  std::array<std::vector<double>, kClasses.size()> by_class;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const JobSpec& spec = trace.jobs[i].spec;
    const JobRecord& job = result.jobs[i];
    metrics.rejected += job.rejected ? 1 : 0;
    metrics.preemptions += job.preemptions;
    metrics.node_failures += job.node_failures;
    if (job.end < 0) {
      continue;
    }
    ++metrics.finished;
    const Time asked = spec.planned() ? spec.arrival : spec.submit;
    const auto whole = static_cast<double>(job.end - asked);
    const auto runs = static_cast<double>(std::min(trace.jobs[i].duration, spec.limit));
    jct.push_back(whole);
    delay.push_back(static_cast<double>(job.first_start - asked));
    by_class[class_of(spec)].push_back(delay.back());
    slowdown.push_back(std::max(1.0, whole / std::max(runs, kShortest)));
  }
  metrics.jct = distribution(std::move(jct));
  metrics.queue_delay = distribution(std::move(delay));
  metrics.slowdown = distribution(std::move(slowdown));
  for (std::size_t k = 0; k < kClasses.size(); ++k) {
    metrics.queue_delay_by_class.push_back(
        {.name = std::string(kClasses[k]), .delay = distribution(std::move(by_class[k]))});
  }
}

void measure_runs(const Trace& trace, const SimResult& result, SimMetrics& metrics) {
  double ratios = 0;
  std::int64_t gangs = 0;
  for (const RunRecord& run : result.runs) {
    const JobSpec& spec = trace.jobs[static_cast<std::size_t>(run.job)].spec;
    if (run.how == RunEnd::kPreempted) {
      metrics.preempted_node_minutes += static_cast<double>(run.lost) / 60 * spec.nodes;
    }
    if (run.in_zone && !spec.preemptible) {
      ++metrics.zone_admissions;
      metrics.zone_violations += run.how == RunEnd::kPreempted ? 1 : 0;
    }
    if (spec.nodes > 1 && run.bound > 0) {
      const double ratio = run.objective / run.bound;
      ratios += ratio;
      ++gangs;
      metrics.objective_ratio_max = std::max(metrics.objective_ratio_max, ratio);
    }
  }
  metrics.objective_ratio = gangs > 0 ? ratios / static_cast<double>(gangs) : 1.0;
}

}  // namespace

Distribution distribution(std::vector<double> values) {
  Distribution result{.count = static_cast<std::int64_t>(values.size())};
  if (values.empty()) {
    return result;
  }
  std::sort(values.begin(), values.end());
  const auto rank = [&](double share) {
    const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(at, 1) - 1];
  };
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  result.p50 = rank(0.50);
  result.p95 = rank(0.95);
  result.max = values.back();
  return result;
}

SimMetrics measure(const Cluster& cluster, const Trace& trace, const SimResult& result) {
  SimMetrics metrics;
  metrics.jobs = static_cast<std::int64_t>(trace.jobs.size());
  metrics.skipped = trace.skipped;
  measure_jobs(trace, result, metrics);
  measure_runs(trace, result, metrics);
  metrics.makespan = static_cast<double>(result.end - result.begin);
  const double whole = metrics.makespan * static_cast<double>(cluster.all_gpus());
  const double up = result.up_gpu_seconds > 0 ? result.up_gpu_seconds : whole;
  metrics.allocation = up > 0 ? result.used_gpu_seconds / up : 0.0;
  metrics.zones = static_cast<std::int64_t>(result.zones.size());
  if (!result.zones.empty()) {
    const double sum =
        std::accumulate(result.zones.begin(), result.zones.end(), 0.0,
                        [](double before, const ZoneRecord& zone) { return before + zone.retention; });
    metrics.retention = sum / static_cast<double>(result.zones.size());
  }
  if (result.idle_host_seconds > 0) {
    metrics.fragmentation = result.unalignable_host_seconds / result.idle_host_seconds;
  }
  return metrics;
}

}  // namespace rudder::sched
