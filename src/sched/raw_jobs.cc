// SPDX-License-Identifier: Apache-2.0
#include "sched/raw_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"
#include "rudder/core/text.h"

namespace rudder::sched {
namespace {

enum Stream : std::uint64_t { kLimits = 0x11, kGrids = 0x12, kPreemptible = 0x13 };

constexpr std::array<Time, 14> kAskedFor = {900,       1800,       3600,       7200,      4 * 3600,
                                            8 * 3600,  12 * 3600,  86400,      172800,    3 * 86400,
                                            7 * 86400, 14 * 86400, 30 * 86400, 60 * 86400};

/// A user's guess: at least the run time, at most `factor` times that before rounding up (the f-model of
/// backfilling studies: Mu'alem and Feitelson 2001).
Time drawn_limit(Time duration, double factor, CounterRng rng) {
  if (factor <= 1.0) {
    return duration;
  }
  const auto guess = static_cast<Time>(static_cast<double>(duration) * (1.0 + rng.unit() * (factor - 1.0)));
  const auto* const asked = std::lower_bound(kAskedFor.begin(), kAskedFor.end(), guess);
  return asked == kAskedFor.end() ? std::max(guess, duration) : std::max(*asked, duration);
}

void draw_grid(JobSpec& spec, CounterRng rng) {
  constexpr std::array<std::int32_t, 4> kColumns = {1, 2, 4, 8};
  constexpr std::array<double, 4> kAlphas = {0.1, 0.3, 0.5, 0.7};
  const std::int32_t columns = kColumns[rng.below(kColumns.size())];
  const double alpha = kAlphas[rng.below(kAlphas.size())];
  if (columns > 1 && spec.nodes % columns == 0) {
    spec.grid = {.rows = spec.nodes / columns, .columns = columns};
    spec.alpha = alpha;
  }
}

void complete(RawJob& job, const TraceOptions& options) {
  JobSpec& spec = job.spec;
  const auto id = static_cast<std::uint64_t>(spec.id);
  if (!job.has_limit) {
    spec.limit = drawn_limit(job.duration, options.limit_factor, CounterRng({options.seed, kLimits, id}));
  }
  if (options.grids && !job.has_grid && spec.nodes >= 4) {
    draw_grid(spec, CounterRng({options.seed, kGrids, id}));
  }
  if (options.preemptible > 0 && !spec.planned() && spec.priority <= 0) {
    spec.preemptible =
        spec.preemptible || CounterRng({options.seed, kPreemptible, id}).unit() < options.preemptible;
  }
  if ((spec.preemptible || spec.nodes > 1) && spec.checkpoint == 0) {
    spec.checkpoint = options.checkpoint;
    spec.restart = options.restart;
  }
}

}  // namespace

bool shape(JobSpec& spec, std::int64_t gpus, std::int64_t nodes, const TraceOptions& options) {
  const std::int64_t least = (gpus + options.gpus_per_node - 1) / options.gpus_per_node;
  const std::int64_t used = nodes < least ? least : std::min(nodes, gpus);
  if (gpus < 1 || used > (1 << 20)) {
    return false;
  }
  spec.nodes = static_cast<std::int32_t>(used);
  spec.gpus = static_cast<std::int32_t>((gpus + used - 1) / used);
  return true;
}

std::string TraceSource::at(std::int64_t place) const {
  return fmt::format("{}{}{}", name, has_lines ? ":" : ": record ", place);
}

Result<Trace> finish_trace(std::vector<RawJob> jobs, std::int64_t skipped, bool dated,
                           const TraceOptions& options, const TraceSource& source) {
  if (jobs.empty()) {
    return Error{
        Errc::kInvalidData,
        fmt::format("{}: no jobs ({} records without GPUs, a start or a run time)", source.name, skipped)};
  }
  std::unordered_map<std::string_view, std::int64_t> names;
  for (const RawJob& job : jobs) {
    const auto [first, added] = names.emplace(job.spec.name, job.place);
    if (!added) {
      return Error{Errc::kInvalidData,
                   fmt::format("{}: job '{}' occurs twice (first at {})", source.at(job.place),
                               printable(job.spec.name), source.at(first->second))};
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const RawJob& a, const RawJob& b) { return a.spec.submit < b.spec.submit; });
  if (options.max_jobs > 0 && jobs.size() > static_cast<std::size_t>(options.max_jobs)) {
    jobs.resize(static_cast<std::size_t>(options.max_jobs));
  }
  Trace trace;
  trace.skipped = skipped;
  const Time begin = !dated ? 0 : jobs.front().spec.submit;
  trace.epoch = begin;
  std::unordered_map<std::string, TenantId> tenants;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    RawJob& job = jobs[i];
    job.spec.id = static_cast<JobId>(i);
    job.spec.submit -= begin;
    job.spec.arrival -= job.spec.planned() ? begin : 0;
    const std::string& tenant = options.tenant_is_user ? job.spec.user : job.spec.queue;
    const auto [entry, added] = tenants.emplace(tenant, static_cast<TenantId>(trace.tenants.size()));
    if (added) {
      trace.tenants.push_back(tenant);
    }
    job.spec.tenant = entry->second;
    complete(job, options);
    if (const Status valid = check_job(job.spec); !valid) {
      return valid.error().in(source.at(job.place));
    }
    trace.jobs.push_back({.spec = std::move(job.spec),
                          .duration = job.duration,
                          .failed = job.failed,
                          .predicted = job.predicted});
  }
  return trace;
}

}  // namespace rudder::sched
