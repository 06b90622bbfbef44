// SPDX-License-Identifier: Apache-2.0
// What does not need the planner: whatever differs between what is written down and what Slurm does.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/place/job.h"

#include "sched/slurm_view.h"

namespace rudder::sched {
namespace {

SlurmAction hold_action(JobId job, std::string reason) {
  return {.kind = "hold", .job = job, .reason = std::move(reason), .commands = {hold_job(job)}};
}

}  // namespace

void SlurmView::Impl::tidy_rejected(std::vector<SlurmAction>& actions) const {
  for (const auto& [id, why] : rejected) {
    const auto job = std::lower_bound(state.jobs.begin(), state.jobs.end(), id,
                                      [](const SlurmJob& one, JobId value) { return one.id < value; });
    const std::string note = to_text({.kind = NoteKind::kRejected, .digest = {}, .victims = {}, .why = why});
    if (job->admin_comment != note) {
      SlurmAction action{.kind = "reject", .job = id, .reason = why, .commands = {}};
      action.commands.push_back(update_job(id, {{"AdminComment", note}}));
      actions.push_back(std::move(action));
    }
  }
}

void SlurmView::Impl::tidy_leaving(std::vector<SlurmAction>& actions) const {
  for (const SlurmJob& job : state.jobs) {
    const SlurmNote note = parse_note(job.admin_comment);
    if (note.kind != NoteKind::kLeaving || !is_marked(job.comment) || note.since < job.start) {
      continue;
    }
    const bool grace_over = job.phase == SlurmPhase::kRunning && state.now >= note.since + options.grace;
    // One that answered SIGTERM by ending has not done its work.
    const bool ended_by_it = job.phase == SlurmPhase::kEnded && job.state == "FAILED";
    if (job.requeue && (grace_over || ended_by_it)) {
      actions.push_back({.kind = "requeue",
                         .job = job.id,
                         .reason = grace_over ? "its grace is over" : "it ended when it was told to leave",
                         .commands = {requeue_job(job.id)}});
    }
  }
}

/// A claim names its victims, so that a planner that died after the claim goes on with them.
void SlurmView::Impl::tidy_claims(std::vector<SlurmAction>& actions) const {
  for (const WaitingJob& entry : waiting) {
    const Zone* zone = zone_of(entry.job->id);
    if (zone == nullptr || zone->kind != ZoneKind::kClaim) {
      continue;
    }
    for (const JobId victim : driven.at(entry.job->id).note.victims) {
      const auto run = std::find_if(running.begin(), running.end(),
                                    [&](const RunningJob& one) { return one.job->id == victim; });
      const bool stays = run != running.end() && !run->leaving && !run->job->planned();
      const bool inside =
          stays && std::any_of(run->hosts.begin(), run->hosts.end(), [&](HostId host) {
            return std::find(zone->hosts.begin(), zone->hosts.end(), host) != zone->hosts.end();
          });
      // Who started after the claim was made is no victim of it.
      if (inside && run->start <= zone->arrival) {
        actions.push_back(
            requeue_action(victim, entry.job->id, fmt::format("its hosts go to job {}", entry.job->id)));
      }
    }
  }
}

std::optional<SlurmAction> SlurmView::Impl::replace_action(const DrivenJob& mine,
                                                           const std::vector<std::string>& lost) const {
  place::Topology usable = topology;
  for (std::size_t h = 0; h < usable.hosts.size(); ++h) {
    const auto host = static_cast<HostId>(h);
    const bool promised = std::any_of(zones.begin(), zones.end(), [&](const Zone& zone) {
      return std::find(zone.hosts.begin(), zone.hosts.end(), host) != zone.hosts.end();
    });
    usable.hosts[h].state =
        nodes[h].free > 0 && !promised ? place::HostState::kFree : place::HostState::kBusy;
  }
  // A job without a grid is one row: its J is the number of minipods.
  const bool grid = mine.request.grid.cells() > 0;
  const place::JobShape shape{.gpus_per_node = 1,
                              .tp = 1,
                              .pp = grid ? mine.request.grid.columns : mine.slurm->nodes,
                              .dp = grid ? mine.request.grid.rows : 1,
                              .cp = 1};
  const place::RankOrder order = grid ? mine.request.order : place::RankOrder::kRowMajor;
  Result<place::Plan> plan = place::plan_from_hosts(shape, order, mine.slurm->required);
  if (!plan) {
    return std::nullopt;
  }
  plan->alpha = grid ? mine.request.alpha : 0;
  if (!place::locate(*plan, topology, options.minipod_level)) {
    return std::nullopt;
  }
  const Result<place::Replacement> found =
      place::replace_hosts(usable, *plan, lost, {.minipod_level = options.minipod_level});
  if (!found) {
    return std::nullopt;
  }
  std::vector<std::string> ranked;
  for (const place::PlannedNode& node : found->plan.nodes) {
    ranked.push_back(node.host);
  }
  SlurmNote note = mine.note;
  note.objective = found->plan.J;
  note.digest = digest_of(ranked);
  note.has_zone = false;
  std::string moves;
  for (const place::Replaced& one : found->hosts) {
    moves +=
        fmt::format("{}{} by {} (J {:+.4g})", moves.empty() ? "" : ", ", one.failed, one.host, one.delta_J);
  }
  SlurmAction action{
      .kind = "replace", .job = mine.slurm->id, .reason = moves, .commands = {hold_job(mine.slurm->id)}};
  action.commands.push_back(
      update_job(mine.slurm->id, {{"ReqNodeList", fmt::format("{}", fmt::join(ranked, ","))},
                                  {"StartTime", earliest_start(*mine.slurm)},
                                  {"ReservationName", ""},
                                  {"AdminComment", to_text(note)}}));
  if (std::optional<SlurmCommand> file = host_file(mine, ranked)) {
    action.commands.push_back(std::move(*file));
  }
  action.commands.push_back(release_job(mine.slurm->id));
  return action;
}

std::optional<SlurmAction> SlurmView::Impl::settle_released(const DrivenJob& mine) const {
  const SlurmJob& job = *mine.slurm;
  if (mine.placed.empty()) {
    return hold_action(job.id, "its node list is not the one that it was placed with");
  }
  std::vector<std::string> lost;
  for (const HostId host : mine.placed) {
    const auto h = static_cast<std::size_t>(host);
    if (!nodes[h].up) {
      lost.push_back(cluster.names[h]);
    } else if (occupants[h] > 1) {
      return hold_action(job.id, fmt::format("{} was taken by another job", cluster.names[h]));
    }
  }
  if (!lost.empty()) {
    std::optional<SlurmAction> replaced = replace_action(mine, lost);
    return replaced
               ? replaced
               : hold_action(job.id, fmt::format("{} is lost and no free host replaces it", lost.front()));
  }
  // Slurm lets a gang that lost a node wait for two minutes; nobody else may use its hosts meanwhile.
  if (job.reason == "BeginTime" && job.restarts > 0 && job.start > job.submit + kRequeueRest) {
    return SlurmAction{.kind = "start",
                       .job = job.id,
                       .reason = "requeued by Slurm; its hosts are all there",
                       .commands = {update_job(job.id, {{"StartTime", earliest_start(job)}})}};
  }
  if (job.eligible > 0 && state.now - job.eligible > options.start_patience) {
    return hold_action(job.id,
                       fmt::format("not started within {} s: {}", options.start_patience, job.reason));
  }
  return std::nullopt;
}

void SlurmView::Impl::tidy_released(std::vector<SlurmAction>& actions) const {
  for (const JobId id : astray) {
    actions.push_back(hold_action(id, "it was not the planner who released it"));
  }
  for (const JobId id : released) {
    if (std::optional<SlurmAction> action = settle_released(driven.at(id))) {
      actions.push_back(std::move(*action));
    }
  }
}

/// Who runs needs its reservation no more, and would keep it from being deleted; nor does who waits
/// elsewhere.
void SlurmView::Impl::tidy_attached(std::vector<SlurmAction>& actions) const {
  for (const SlurmJob& job : state.jobs) {
    const JobId owner = reservation_owner(job.reservation);
    const bool runs = job.phase == SlurmPhase::kRunning;
    const bool waits =
        job.phase == SlurmPhase::kPending && job.held && !(owner == job.id && zone_of(job.id) != nullptr);
    if (owner != 0 && (runs || waits)) {
      actions.push_back({.kind = "detach",
                         .job = job.id,
                         .reason = fmt::format("it {} outside of reservation {}", runs ? "goes on" : "waits",
                                               job.reservation),
                         .commands = {update_job(job.id, {{"ReservationName", ""}})}});
    }
  }
}

void SlurmView::Impl::tidy_reservations(std::vector<SlurmAction>& actions) const {
  for (const SlurmReservation& one : state.reservations) {
    const JobId owner = reservation_owner(one.name);
    const bool needed =
        zone_of(owner) != nullptr ||
        std::any_of(state.jobs.begin(), state.jobs.end(), [&](const SlurmJob& job) {
          return job.reservation == one.name && job.phase == SlurmPhase::kPending && !job.held;
        });
    if (owner != 0 && !needed) {
      actions.push_back({.kind = "release-zone",
                         .job = owner,
                         .reason = "nobody waits for its zone",
                         .commands = {delete_reservation(one.name)}});
    }
  }
  for (const Zone& zone : zones) {
    if (zone.kind == ZoneKind::kOutside || zone.expires <= state.now) {
      continue;
    }
    if (std::optional<SlurmCommand> command = settle_reservation(zone)) {
      SlurmAction action{.kind = "reserve",
                         .job = zone.job,
                         .reason = "its reservation differs from its zone",
                         .commands = {}};
      action.commands.push_back(std::move(*command));
      actions.push_back(std::move(action));
    }
  }
}

std::vector<SlurmAction> SlurmView::tidy() const {
  std::vector<SlurmAction> actions;
  impl_->tidy_rejected(actions);
  impl_->tidy_leaving(actions);
  impl_->tidy_claims(actions);
  impl_->tidy_released(actions);
  impl_->tidy_attached(actions);
  impl_->tidy_reservations(actions);
  return actions;
}

}  // namespace rudder::sched
