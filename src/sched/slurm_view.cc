// SPDX-License-Identifier: Apache-2.0
#include "sched/slurm_view.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace rudder::sched {
namespace {

/// Holds that are somebody else's to lift.
bool held_by_others(std::string_view reason) {
  return reason == "JobHeldAdmin" || reason.find("launch_failed") != std::string_view::npos ||
         reason.find("launch failed") != std::string_view::npos || reason == "JobHoldMaxRequeue";
}

/// Victims are never planned jobs: that is how jobs which must not be requeued look to the planner.
void make_untouchable(JobSpec& spec, Time start) {
  spec.arrival = spec.planned() ? spec.arrival : std::max<Time>(start, 0);
  spec.preemptible = false;
}

Time estimate_of(const SlurmJob& job, const JobRequest& request) {
  // A job that cannot be requeued must be gone by its limit: its estimate promises nothing.
  return job.requeue && request.estimate > 0 ? std::min(request.estimate, job.limit) : job.limit;
}

}  // namespace

SlurmView::Impl::Impl(const place::Topology& the_topology, const Cluster& the_cluster,
                      const SlurmState& the_state, const SlurmOptions& the_options)
    : topology(the_topology), cluster(the_cluster), state(the_state), options(the_options) {
  for (std::size_t h = 0; h < cluster.hosts(); ++h) {
    ids.emplace(cluster.names[h], static_cast<HostId>(h));
  }
  occupants.assign(cluster.hosts(), 0);
  see_nodes();
  for (const SlurmJob& job : state.jobs) {
    if (job.phase == SlurmPhase::kRunning || job.phase == SlurmPhase::kCompleting) {
      see_running(job);
    } else if (job.phase == SlurmPhase::kPending && is_marked(job.comment) && partition_is(job)) {
      see_pending(job);
    }
  }
  see_reservations();
}

/// Pending jobs may name several partitions.
bool SlurmView::Impl::partition_is(const SlurmJob& job) const {
  return job.partition == options.partition;
}

void SlurmView::Impl::see_nodes() {
  nodes.assign(cluster.hosts(), {.free = 0, .up = false});
  for (const SlurmNode& node : state.nodes) {
    if (const auto id = ids.find(node.name); id != ids.end()) {
      NodeState& seen = nodes[static_cast<std::size_t>(id->second)];
      seen.up = node.use != SlurmNodeUse::kDown;
      seen.free = node.use == SlurmNodeUse::kIdle ? 1 : 0;
    }
  }
}

const JobSpec* SlurmView::Impl::keep(JobSpec spec) {
  specs.push_back(std::move(spec));
  return &specs.back();
}

const Zone* SlurmView::Impl::zone_of(JobId job) const {
  const auto found =
      std::find_if(zones.begin(), zones.end(), [&](const Zone& zone) { return zone.job == job; });
  return found == zones.end() ? nullptr : &*found;
}

const SlurmReservation* SlurmView::Impl::reservation(const std::string& name) const {
  const auto found = std::find_if(state.reservations.begin(), state.reservations.end(),
                                  [&](const SlurmReservation& one) { return one.name == name; });
  return found == state.reservations.end() ? nullptr : &*found;
}

void SlurmView::Impl::reject(const SlurmJob& job, std::string why) {
  aside.emplace_back(job.id, "rejected: " + why);
  rejected.emplace(job.id, std::move(why));
}

Result<JobSpec> SlurmView::Impl::spec_of(const SlurmJob& job, const JobRequest& request) const {
  JobSpec spec;
  spec.id = job.id;
  spec.name = job.name;
  spec.user = job.user;
  spec.queue = job.partition;
  spec.submit = job.submit;
  spec.priority = request.priority;
  spec.nodes = job.nodes;
  spec.gpus = 1;
  spec.grid = request.grid;
  spec.alpha = request.alpha;
  spec.preemptible = request.preemptible && job.requeue;
  spec.limit = job.limit;
  spec.min_runtime = request.min_runtime;
  spec.checkpoint = request.checkpoint;
  spec.restart = request.restart;
  // A requeue moves the submission; a planned job that is requeued wants its nodes at once.
  spec.arrival = request.planned < 0 ? -1 : std::max(request.planned, job.submit);
  RUDDER_TRY(check_job(spec));
  return spec;
}

void SlurmView::Impl::see_running(const SlurmJob& job) {
  RunningJob run;
  run.start = job.start;
  for (const std::string& name : job.hosts) {
    if (const auto id = ids.find(name); id != ids.end()) {
      run.hosts.push_back(id->second);
      nodes[static_cast<std::size_t>(id->second)].free = 0;
      ++occupants[static_cast<std::size_t>(id->second)];
    }
  }
  DrivenJob mine{
      .slurm = &job, .spec = nullptr, .request = {}, .note = parse_note(job.admin_comment), .placed = {}};
  Result<JobRequest> request = parse_request(job.comment);
  // The planner moves only what it has started itself.
  const bool placed_here = mine.note.kind == NoteKind::kPlaced || mine.note.kind == NoteKind::kLeaving;
  const bool ours = is_marked(job.comment) && partition_is(job) && request && placed_here;
  mine.request = ours ? *request : JobRequest{};
  Result<JobSpec> spec = spec_of(job, mine.request);
  JobSpec known = spec ? std::move(spec).value() : JobSpec{};
  known.id = job.id;
  known.name = job.name;
  known.limit = job.limit;
  known.nodes = static_cast<std::int32_t>(run.hosts.size());
  if (!ours || !job.requeue) {
    make_untouchable(known, job.start);
  }
  mine.spec = keep(std::move(known));
  run.job = mine.spec;
  run.estimate = estimate_of(job, mine.request);
  run.leaving = job.phase == SlurmPhase::kCompleting ||
                (mine.note.kind == NoteKind::kLeaving && mine.note.since >= job.start);
  const Time checkpoint = mine.request.checkpoint;
  run.safe = checkpoint > 0 ? job.start + std::max<Time>(0, state.now - job.start) / checkpoint * checkpoint
                            : job.start;
  if (ours) {
    driven.emplace(job.id, std::move(mine));
  }
  if (!run.hosts.empty()) {
    running.push_back(std::move(run));
  }
}

std::vector<HostId> SlurmView::Impl::placement_of(const SlurmJob& job, const DrivenJob& mine) const {
  const std::set<std::string> distinct(job.required.begin(), job.required.end());
  if (job.required.size() != static_cast<std::size_t>(job.nodes) || distinct.size() != job.required.size() ||
      digest_of(job.required) != mine.note.digest) {
    return {};
  }
  std::vector<HostId> cells(job.required.size());
  const place::Grid& grid = mine.request.grid;
  const bool by_column = grid.cells() > 0 && mine.request.order == place::RankOrder::kColumnMajor;
  for (std::size_t rank = 0; rank < job.required.size(); ++rank) {
    const auto id = ids.find(job.required[rank]);
    if (id == ids.end()) {
      return {};
    }
    const auto rows = static_cast<std::size_t>(std::max(grid.rows, 1));
    const auto columns = static_cast<std::size_t>(std::max(grid.columns, 1));
    cells[by_column ? rank % rows * columns + rank / rows : rank] = id->second;
  }
  return cells;
}

void SlurmView::Impl::see_pending(const SlurmJob& job) {
  DrivenJob mine{
      .slurm = &job, .spec = nullptr, .request = {}, .note = parse_note(job.admin_comment), .placed = {}};
  const bool planners = mine.note.kind != NoteKind::kNone && mine.note.kind != NoteKind::kRejected;
  if (!job.held && !planners) {
    aside.emplace_back(job.id, "not held: Slurm schedules it itself");
    return;
  }
  Result<JobRequest> request = parse_request(job.comment);
  if (!request) {
    reject(job, request.error().message);
    return;
  }
  if (job.composite) {
    reject(job, "part of an array or a heterogeneous job");
    return;
  }
  if (!job.reservation.empty() && reservation_owner(job.reservation) == 0) {
    reject(job, fmt::format("it has a reservation of its own, {}", job.reservation));
    return;
  }
  mine.request = *request;
  Result<JobSpec> spec = spec_of(job, *request);
  if (!spec) {
    reject(job, spec.error().message);
    return;
  }
  if (static_cast<std::size_t>(job.nodes) > cluster.hosts()) {
    reject(job, fmt::format("{} nodes, of {} that partition {} and topology have", job.nodes, cluster.hosts(),
                            options.partition));
    return;
  }
  mine.spec = keep(std::move(spec).value());
  mine.placed = placement_of(job, mine);
  if (job.held) {
    see_held(job, std::move(mine));
  } else {
    see_released(job, std::move(mine));
  }
}

void SlurmView::Impl::see_held(const SlurmJob& job, DrivenJob mine) {
  if (held_by_others(job.reason)) {
    aside.emplace_back(job.id, fmt::format("held: {}", job.reason));
    return;
  }
  if (!job.dependency.empty()) {
    aside.emplace_back(job.id, fmt::format("waits for other jobs: {}", job.dependency));
    return;
  }
  if (job.restarts == 0 && job.start > state.now) {
    aside.emplace_back(job.id, fmt::format("not to begin for another {} s", job.start - state.now));
    return;
  }
  waiting.push_back({.job = mine.spec, .estimate = estimate_of(job, mine.request)});
  const bool zoned = mine.note.kind == NoteKind::kZone || mine.note.kind == NoteKind::kPlaced;
  if (zoned && mine.note.has_zone && !mine.placed.empty()) {
    zones.push_back({.job = job.id,
                     .kind = mine.note.zone,
                     .arrival = mine.note.arrival,
                     .end = mine.note.end,
                     .expires = mine.note.expires,
                     .hosts = mine.placed,
                     .objective = mine.note.objective,
                     .bound = mine.note.bound});
  }
  driven.emplace(job.id, std::move(mine));
}

void SlurmView::Impl::see_released(const SlurmJob& job, DrivenJob mine) {
  if (mine.note.kind != NoteKind::kPlaced) {
    astray.push_back(job.id);
    aside.emplace_back(job.id, "released by somebody else; to be held again");
    driven.emplace(job.id, std::move(mine));
    return;
  }
  JobSpec spec = *mine.spec;
  make_untouchable(spec, state.now);
  RunningJob run{.job = keep(std::move(spec)),
                 .start = state.now,
                 .estimate = estimate_of(job, mine.request),
                 .safe = state.now,
                 .hosts = {},
                 .leaving = false};
  for (const std::string& name : job.required) {
    if (const auto id = ids.find(name); id != ids.end()) {
      run.hosts.push_back(id->second);
      nodes[static_cast<std::size_t>(id->second)].free = 0;
      ++occupants[static_cast<std::size_t>(id->second)];
    }
  }
  if (!run.hosts.empty()) {
    running.push_back(std::move(run));
  }
  released.push_back(job.id);
  driven.emplace(job.id, std::move(mine));
}

void SlurmView::Impl::see_reservations() {
  JobId number = 0;
  for (const SlurmReservation& one : state.reservations) {
    if (reservation_owner(one.name) != 0 || one.end <= state.now) {
      continue;
    }
    Zone zone{.job = --number,
              .kind = ZoneKind::kOutside,
              .arrival = one.start,
              .end = one.end,
              .expires = one.end,
              .hosts = {},
              .objective = 0,
              .bound = 0};
    for (const std::string& name : one.nodes) {
      if (const auto id = ids.find(name); id != ids.end()) {
        zone.hosts.push_back(id->second);
      }
    }
    if (!zone.hosts.empty()) {
      zones.push_back(std::move(zone));
    }
  }
}

SlurmView::SlurmView(const place::Topology& topology, const Cluster& cluster, const SlurmState& state,
                     const SlurmOptions& options)
    : impl_(std::make_unique<Impl>(topology, cluster, state, options)) {}
SlurmView::~SlurmView() = default;

Snapshot SlurmView::snapshot() const {
  return {.now = impl_->state.now,
          .cluster = &impl_->cluster,
          .nodes = impl_->nodes,
          .waiting = impl_->waiting,
          .sorted = false,
          .running = impl_->running,
          .zones = impl_->zones,
          .head = nullptr,
          .quotas = nullptr};
}

std::vector<std::pair<JobId, std::string>> SlurmView::set_aside() const {
  return impl_->aside;
}

}  // namespace rudder::sched
