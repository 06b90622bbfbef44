// SPDX-License-Identifier: Apache-2.0
#include "sched/sim_engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/ids.h"

namespace rudder::sched {
namespace {

/// Columns of the rows that fragmentation is measured with: four pipeline stages.
constexpr std::int32_t kAlignedColumns = 4;

}  // namespace

SimEngine::SimEngine(const Cluster& cluster, const Trace& trace, const SimOptions& options)
    : cluster_(cluster), trace_(trace), options_(options) {
  nodes_.resize(cluster.hosts());
  outages_.assign(cluster.hosts(), 0);
  for (std::size_t h = 0; h < nodes_.size(); ++h) {
    nodes_[h].free = cluster.gpus[h];
  }
  for (const auto& members : cluster.members) {
    idle_hosts_.push_back(static_cast<std::int32_t>(members.size()));
  }
  up_gpus_ = cluster.all_gpus();
  progress_.resize(trace.jobs.size());
  zone_made_.assign(trace.jobs.size(), -1);
  result_.jobs.resize(trace.jobs.size());
}

void SimEngine::push(Time at, EventKind kind, std::int32_t subject, std::int32_t generation) {
  events_.push({.at = at, .kind = kind, .subject = subject, .generation = generation});
}

void SimEngine::seed_events() {
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    const TraceJob& job = trace_.jobs[i];
    progress_[i].work = std::min(job.duration, job.spec.limit);
    push(job.spec.submit, EventKind::kSubmit, static_cast<std::int32_t>(i));
    if (job.spec.planned()) {
      push(job.spec.arrival, EventKind::kWake, static_cast<std::int32_t>(i));
    }
  }
  for (const Outage& outage : options_.outages) {
    push(outage.from, EventKind::kDown, outage.host);
    push(outage.to, EventKind::kUp, outage.host);
  }
}

Time SimEngine::estimate(std::int32_t job) const {
  const auto at = static_cast<std::size_t>(job);
  const Progress& progress = progress_[at];
  if (options_.estimates.empty()) {
    return std::max<Time>(1, progress.work + (progress.saved ? spec(job).restart : 0));
  }
  return std::clamp<Time>(options_.estimates[at], 1, spec(job).limit);
}

bool SimEngine::can_ever_run(const JobSpec& job) const {
  const auto large = std::count_if(cluster_.gpus.begin(), cluster_.gpus.end(),
                                   [&](std::int32_t gpus) { return gpus >= job.gpus; });
  const bool over_share =
      options_.quotas.mode == QuotaMode::kStatic && job.all_gpus() > options_.quotas.of(job.tenant);
  return job.nodes <= large && !over_share;
}

void SimEngine::enqueue(std::int32_t job) {
  const WaitingJob entry{.job = &spec(job), .estimate = estimate(job)};
  waiting_.insert(place_in_queue(entry), entry);
}

std::vector<WaitingJob>::iterator SimEngine::place_in_queue(const WaitingJob& entry) {
  return std::lower_bound(waiting_.begin(), waiting_.end(), entry,
                          [&](const WaitingJob& a, const WaitingJob& b) {
                            return goes_before(*a.job, *b.job, now_, options_.planner.age);
                          });
}

bool SimEngine::order_is_stable() const {
  const auto age = static_cast<double>(options_.planner.age);
  return options_.planner.age == 0 ||
         kMaxPriority + static_cast<double>(now_ - result_.begin) / age < kPlannedClass - 1;
}

void SimEngine::dequeue(std::int32_t job) {
  const auto is_it = [&](const WaitingJob& entry) { return entry.job->id == job; };
  auto found = place_in_queue({.job = &spec(job)});
  if (found == waiting_.end() || !is_it(*found)) {
    found = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  }
  RUDDER_CHECK(found != waiting_.end(), "only what waits is started");
  waiting_.erase(found);
}

void SimEngine::submit(std::int32_t job) {
  if (!can_ever_run(spec(job))) {
    result_.jobs[static_cast<std::size_t>(job)].rejected = true;
    return;
  }
  enqueue(job);
}

void SimEngine::occupy(const RunningJob& run, std::int32_t sign) {
  for (const HostId host : run.hosts) {
    const auto h = static_cast<std::size_t>(host);
    std::int32_t& count = idle_hosts_[static_cast<std::size_t>(cluster_.minipod[h])];
    count -= idle(h) ? 1 : 0;
    nodes_[h].free -= sign * run.job->gpus;
    RUDDER_CHECK(nodes_[h].free >= 0 && nodes_[h].free <= cluster_.gpus[h], "no GPU is held twice");
    count += idle(h) ? 1 : 0;
  }
  used_gpus_ += sign * run.job->all_gpus();
}

void SimEngine::start(const Start& start) {
  const auto job = static_cast<std::int32_t>(start.job);
  Progress& progress = progress_[static_cast<std::size_t>(job)];
  RUDDER_CHECK(progress.at < 0, "a job runs once at a time");
  dequeue(job);
  for (const Zone& zone : zones_) {
    if (zone.job == start.job && zone.kind == ZoneKind::kPlanned && zone.arrival > now_) {
      note_retention(zone);  // vacant before it was expected to be
    }
  }
  JobRecord& record = result_.jobs[static_cast<std::size_t>(job)];
  record.first_start = record.first_start < 0 ? now_ : record.first_start;
  progress.overhead = progress.saved ? spec(job).restart : 0;
  progress.at = static_cast<std::int32_t>(running_.size());
  progress.record = static_cast<std::int32_t>(result_.runs.size());
  ++progress.generation;
  running_.push_back({.job = &spec(job),
                      .start = now_,
                      .estimate = estimate(job),
                      .safe = now_,
                      .hosts = start.hosts,
                      .leaving = false});
  occupy(running_.back(), 1);
  result_.runs.push_back({.job = job,
                          .start = now_,
                          .end = -1,
                          .how = RunEnd::kDone,
                          .in_zone = start.in_zone,
                          .objective = start.objective,
                          .bound = start.bound,
                          .lost = 0,
                          .hosts = start.hosts});
  std::erase_if(zones_, [&](const Zone& zone) { return zone.job == start.job; });
  push(now_ + progress.overhead + progress.work, EventKind::kFinish, job, progress.generation);
  if (spec(job).preemptible && spec(job).min_runtime > 0) {
    push(now_ + spec(job).min_runtime, EventKind::kWake, job);
  }
}

void SimEngine::leave(std::int32_t job, RunEnd how) {
  Progress& progress = progress_[static_cast<std::size_t>(job)];
  RunRecord& record = result_.runs[static_cast<std::size_t>(progress.record)];
  record.end = now_;
  record.how = how;
  const auto at = static_cast<std::size_t>(progress.at);
  occupy(running_[at], -1);
  if (at + 1 != running_.size()) {
    running_[at] = std::move(running_.back());
    progress_[static_cast<std::size_t>(running_[at].job->id)].at = progress.at;
  }
  running_.pop_back();
  progress.at = -1;
  result_.end = std::max(result_.end, now_);
}

void SimEngine::evict(std::int32_t job, RunEnd how) {
  Progress& progress = progress_[static_cast<std::size_t>(job)];
  const JobSpec& about = spec(job);
  RunRecord& record = result_.runs[static_cast<std::size_t>(progress.record)];
  const Time elapsed = now_ - record.start;
  const Time worked = std::max<Time>(0, elapsed - progress.overhead);
  const Time kept = about.checkpoint > 0 ? worked / about.checkpoint * about.checkpoint : 0;
  progress.work = std::max<Time>(1, progress.work - kept);
  progress.saved = progress.saved || kept > 0;
  record.lost = elapsed - kept;
  leave(job, how);
  JobRecord& whole = result_.jobs[static_cast<std::size_t>(job)];
  ++(how == RunEnd::kPreempted ? whole.preemptions : whole.node_failures);
  enqueue(job);
}

void SimEngine::set_up(HostId host, bool up) {
  const auto h = static_cast<std::size_t>(host);
  outages_[h] += up ? -1 : 1;
  const bool after = outages_[h] == 0;
  if (after == nodes_[h].up) {
    return;
  }
  if (!after) {
    std::vector<std::int32_t> lost;
    for (const RunningJob& run : running_) {
      if (std::find(run.hosts.begin(), run.hosts.end(), host) != run.hosts.end()) {
        lost.push_back(static_cast<std::int32_t>(run.job->id));
      }
    }
    std::sort(lost.begin(), lost.end());
    for (const std::int32_t job : lost) {
      evict(job, RunEnd::kFailedNode);
    }
  }
  std::int32_t& count = idle_hosts_[static_cast<std::size_t>(cluster_.minipod[h])];
  nodes_[h].up = after;
  count += after ? 1 : -1;
  up_gpus_ += after ? cluster_.gpus[h] : -cluster_.gpus[h];
}

void SimEngine::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kFinish:
    case EventKind::kVacate: {
      const Progress& progress = progress_[static_cast<std::size_t>(event.subject)];
      if (progress.at < 0 || progress.generation != event.generation) {
        return;
      }
      if (event.kind == EventKind::kVacate) {
        evict(event.subject, RunEnd::kPreempted);
        return;
      }
      const TraceJob& job = trace_.jobs[static_cast<std::size_t>(event.subject)];
      leave(event.subject, job.duration > job.spec.limit ? RunEnd::kLimit : RunEnd::kDone);
      result_.jobs[static_cast<std::size_t>(event.subject)].end = now_;
      return;
    }
    case EventKind::kDown:
    case EventKind::kUp:
      set_up(event.subject, event.kind == EventKind::kUp);
      return;
    case EventKind::kSubmit:
      submit(event.subject);
      return;
    case EventKind::kWake:
      return;
  }
}

void SimEngine::note_retention(const Zone& zone) {
  const auto occupied = std::count_if(zone.hosts.begin(), zone.hosts.end(), [&](HostId host) {
    const auto h = static_cast<std::size_t>(host);
    return nodes_[h].free < cluster_.gpus[h];
  });
  result_.zones.push_back(
      {.job = static_cast<std::int32_t>(zone.job),
       .planned = zone_made_[static_cast<std::size_t>(zone.job)],
       .arrival = now_,
       .retention = static_cast<double>(occupied) / static_cast<double>(zone.hosts.size()),
       .hosts = zone.hosts});
}

void SimEngine::note_arrivals() {
  for (const Zone& zone : zones_) {
    if (zone.kind == ZoneKind::kPlanned && zone.arrival == now_) {
      note_retention(zone);
    }
  }
}

void SimEngine::reserve(const Zone& zone) {
  std::erase_if(zones_, [&](const Zone& old) { return old.job == zone.job; });
  zones_.push_back(zone);
  Time& made = zone_made_[static_cast<std::size_t>(zone.job)];
  made = made < 0 ? now_ : made;
  push(zone.arrival, EventKind::kWake, static_cast<std::int32_t>(zone.job));
  push(zone.expires, EventKind::kWake, static_cast<std::int32_t>(zone.job));
}

Result<Snapshot> SimEngine::snapshot() {
  for (RunningJob& run : running_) {
    if (run.job->checkpoint > 0) {
      const Time begun = run.start + progress_[static_cast<std::size_t>(run.job->id)].overhead;
      run.safe =
          now_ > begun ? begun + (now_ - begun) / run.job->checkpoint * run.job->checkpoint : run.start;
    }
  }
  return Snapshot{.now = now_,
                  .cluster = &cluster_,
                  .nodes = nodes_,
                  .waiting = waiting_,
                  .sorted = order_is_stable(),
                  .running = running_,
                  .zones = zones_,
                  .head = head_ ? &*head_ : nullptr,
                  .quotas = &options_.quotas};
}

Status SimEngine::apply(const Plan& plan) {
  ++result_.cycles;
  if (options_.observer) {
    RUDDER_ASSIGN(const Snapshot seen, snapshot());
    options_.observer(seen, plan);
  }
  for (const JobId job : plan.releases) {
    std::erase_if(zones_, [&](const Zone& zone) { return zone.job == job; });
  }
  for (const Zone& zone : plan.reserves) {
    reserve(zone);
  }
  for (const Requeue& requeue : plan.requeues) {
    const auto job = static_cast<std::int32_t>(requeue.job);
    const Progress& progress = progress_[static_cast<std::size_t>(job)];
    RUDDER_CHECK(progress.at >= 0, "only what runs is requeued");
    if (options_.planner.grace == 0) {
      evict(job, RunEnd::kPreempted);
    } else {
      running_[static_cast<std::size_t>(progress.at)].leaving = true;
      push(now_ + options_.planner.grace, EventKind::kVacate, job, progress.generation);
    }
  }
  for (const Start& entry : plan.starts) {
    start(entry);
  }
  head_ = plan.head;
  return {};
}

void SimEngine::advance(Time to) {
  const auto span = static_cast<double>(to - now_);
  result_.used_gpu_seconds += span * static_cast<double>(used_gpus_);
  result_.up_gpu_seconds += span * static_cast<double>(up_gpus_);
  for (const std::int32_t count : idle_hosts_) {
    result_.idle_host_seconds += span * count;
    result_.unalignable_host_seconds += span * (count % kAlignedColumns);
  }
  now_ = to;
}

Result<SimResult> SimEngine::run() {
  Planner planner(options_.planner);
  seed_events();
  result_.begin = trace_.jobs.empty() ? 0 : trace_.jobs.front().spec.submit;
  now_ = result_.begin;
  result_.end = now_;
  std::size_t open = trace_.jobs.size();
  while (!events_.empty() && open > 0) {
    const Time at = events_.top().at;
    if (at > now_) {
      advance(at);
    }
    while (!events_.empty() && events_.top().at <= now_) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
      const auto subject = static_cast<std::size_t>(event.subject);
      const bool submitted = event.kind == EventKind::kSubmit && result_.jobs[subject].rejected;
      const bool finished = event.kind == EventKind::kFinish && result_.jobs[subject].end == now_ &&
                            progress_[subject].generation == event.generation;
      open -= submitted || finished ? 1 : 0;
    }
    note_arrivals();
    RUDDER_TRY(run_cycle(*this, planner));
  }
  std::stable_sort(result_.runs.begin(), result_.runs.end(),
                   [](const RunRecord& a, const RunRecord& b) { return a.start < b.start; });
  return std::move(result_);
}

Result<SimResult> simulate(const Cluster& cluster, const Trace& trace, const SimOptions& options) {
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    RUDDER_TRY(check_job(job.spec));
    const bool in_order = i == 0 || trace.jobs[i - 1].spec.submit <= job.spec.submit;
    if (job.spec.id != static_cast<JobId>(i) || !in_order || job.duration < 1 || job.duration > kMaxTime) {
      return Error{Errc::kInvalidArgument, fmt::format("job '{}': id {} at place {}, duration {} s",
                                                       job.spec.name, job.spec.id, i, job.duration)};
    }
  }
  if (!options.estimates.empty() && options.estimates.size() != trace.jobs.size()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} predictions for {} jobs", options.estimates.size(), trace.jobs.size())};
  }
  for (const Outage& outage : options.outages) {
    if (outage.host < 0 || static_cast<std::size_t>(outage.host) >= cluster.hosts() ||
        outage.from >= outage.to) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("outage of host {} from {} to {} s", outage.host, outage.from, outage.to)};
    }
  }
  return SimEngine(cluster, trace, options).run();
}

}  // namespace rudder::sched
