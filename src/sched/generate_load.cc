// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"

#include "sched/raw_jobs.h"

namespace rudder::sched {
namespace {

struct Shape {
  double share = 0;
  std::int32_t gpus = 1;
  double median = 0;  ///< seconds
  double sigma = 0;   ///< of the natural logarithm
};

/// Many small and short jobs, few large and long ones, tails as long as published traces have them.
constexpr std::array<Shape, 7> kShapes = {{
    {.share = 0.70, .gpus = 1, .median = 900, .sigma = 1.8},
    {.share = 0.12, .gpus = 2, .median = 1800, .sigma = 1.8},
    {.share = 0.08, .gpus = 4, .median = 3600, .sigma = 1.6},
    {.share = 0.07, .gpus = 8, .median = 7200, .sigma = 1.5},
    {.share = 0.02, .gpus = 16, .median = 4 * 3600, .sigma = 1.3},
    {.share = 0.007, .gpus = 32, .median = 6 * 3600, .sigma = 1.2},
    {.share = 0.003, .gpus = 64, .median = 8 * 3600, .sigma = 1.0},
}};

constexpr Time kLongest = Time{30} * 86400;

double normal(CounterRng& rng) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.unit()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.unit());
}

const Shape& drawn_shape(CounterRng& rng) {
  double left = rng.unit();
  for (const Shape& shape : kShapes) {
    left -= shape.share;
    if (left < 0) {
      return shape;
    }
  }
  return kShapes.front();
}

}  // namespace

Result<Trace> generate_load(const LoadOptions& load, const TraceOptions& options) {
  if (load.jobs < 1 || !(load.load > 0) || load.cluster_gpus < 1 || load.users < 1 || load.queues < 1 ||
      static_cast<std::size_t>(load.jobs) > kMaxTraceJobs) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("a load of {} jobs at {} of {} GPUs by {} users in {} queues", load.jobs,
                             load.load, load.cluster_gpus, load.users, load.queues)};
  }
  std::vector<RawJob> jobs(static_cast<std::size_t>(load.jobs));
  std::vector<double> gaps(jobs.size());
  double work = 0;
  double gap_sum = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CounterRng rng({options.seed, 0x21, i});
    const Shape& drawn = drawn_shape(rng);
    const double seconds = drawn.median * std::exp(drawn.sigma * normal(rng));
    RawJob& job = jobs[i];
    job.duration = std::clamp<Time>(static_cast<Time>(seconds), 1, kLongest);
    job.spec.name = fmt::format("g{}", i);
    job.spec.user = fmt::format("u{}", rng.below(static_cast<std::uint64_t>(load.users)));
    job.spec.queue = fmt::format("q{}", rng.below(static_cast<std::uint64_t>(load.queues)));
    if (!shape(job.spec, drawn.gpus, 0, options)) {
      return Error{Errc::kInvalidArgument, fmt::format("nodes of {} GPUs", options.gpus_per_node)};
    }
    gaps[i] = -std::log(1.0 - rng.unit());
    gap_sum += gaps[i];
    work += static_cast<double>(job.duration) * static_cast<double>(job.spec.all_gpus());
  }
  // Poisson arrivals over the time in which this work fills `load` of the cluster.
  const double scale = work / (load.load * static_cast<double>(load.cluster_gpus)) / gap_sum;
  double now = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    now += gaps[i] * scale;
    jobs[i].spec.submit = static_cast<Time>(std::min(now, static_cast<double>(kMaxTime) / 2));
  }
  return finish_trace(std::move(jobs), 0, false, options, {.name = "generated load", .has_lines = false});
}

Result<Trace> with_planned_jobs(Trace trace, const PlannedOptions& planned, const TraceOptions& options) {
  if (planned.count == 0) {
    return trace;
  }
  if (planned.count < 0 || planned.nodes < 1 || planned.columns < 1 || planned.nodes % planned.columns != 0 ||
      !(planned.alpha >= 0 && planned.alpha <= 1) || planned.notice < 0 || planned.duration < 1) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("planned jobs of {} nodes in {} columns: columns must divide nodes, alpha {} lie in "
                    "0..1",
                    planned.nodes, planned.columns, planned.alpha)};
  }
  const Time last = trace.jobs.empty() ? 0 : trace.jobs.back().spec.submit;
  for (std::int32_t i = 0; i < planned.count; ++i) {
    TraceJob job;
    job.spec.name = fmt::format("planned-{}", i + 1);
    job.spec.user = "planned";
    job.spec.queue = "planned";
    job.spec.nodes = planned.nodes;
    job.spec.gpus = options.gpus_per_node;
    job.spec.grid = {.rows = planned.nodes / planned.columns, .columns = planned.columns};
    job.spec.alpha = planned.alpha;
    job.spec.arrival = std::max(planned.notice, last / (planned.count + 1) * (i + 1));
    job.spec.submit = job.spec.arrival - planned.notice;
    job.spec.limit = planned.duration;
    job.spec.checkpoint = options.checkpoint;
    job.spec.restart = options.restart;
    job.spec.tenant = static_cast<TenantId>(trace.tenants.size());
    job.duration = planned.duration;
    job.predicted = planned.duration;
    trace.jobs.push_back(std::move(job));
  }
  trace.tenants.emplace_back("planned");
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.spec.submit < b.spec.submit; });
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    trace.jobs[i].spec.id = static_cast<JobId>(i);
  }
  return trace;
}

std::vector<Outage> draw_outages(const Cluster& cluster, Time end, double mean_hours, double repair_hours,
                                 std::uint64_t seed) {
  std::vector<Outage> outages;
  const auto repair = std::max<Time>(1, static_cast<Time>(repair_hours * 3600));
  for (std::size_t h = 0; h < cluster.hosts(); ++h) {
    CounterRng rng({seed, 0x31, h});
    Time now = 0;
    while (true) {
      const double up = -std::log(1.0 - rng.unit()) * mean_hours * 3600;
      now += 1 + static_cast<Time>(std::min(up, static_cast<double>(kMaxTime)));
      if (now >= end) {
        break;
      }
      outages.push_back({.host = static_cast<HostId>(h), .from = now, .to = now + repair});
      now += repair;
    }
  }
  return outages;
}

}  // namespace rudder::sched
