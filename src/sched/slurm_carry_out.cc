// SPDX-License-Identifier: Apache-2.0
// Plans as commands, in the order that slurm_engine.h gives.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sched/slurm_view.h"

namespace rudder::sched {
namespace {

/// Reservations need an end; a job without a limit holds its zone this long at most.
constexpr Time kLongestReservation = Time{365} * 86'400;

std::vector<HostId> shared_hosts(std::span<const HostId> a, std::span<const HostId> b) {
  std::vector<HostId> both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both),
               [&](HostId host) { return std::find(b.begin(), b.end(), host) != b.end(); });
  return both;
}

/// When Slurm ends the job at the latest: its limits are whole minutes.
Time slurm_end(const DrivenJob& driven, Time now) {
  const Time limit = driven.slurm->limit;
  return limit >= kNever ? kNever : now + (limit + 59) / 60 * 60;
}

}  // namespace

std::vector<std::string> SlurmView::Impl::ranked_names(const DrivenJob& mine,
                                                       std::span<const HostId> hosts) const {
  const place::Grid& grid = mine.request.grid;
  const bool by_column = grid.cells() > 0 && mine.request.order == place::RankOrder::kColumnMajor;
  const auto rows = static_cast<std::size_t>(std::max(grid.rows, 1));
  const auto columns = static_cast<std::size_t>(std::max(grid.columns, 1));
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const HostId host = hosts[by_column ? rank % rows * columns + rank / rows : rank];
    names.push_back(cluster.names[static_cast<std::size_t>(host)]);
  }
  return names;
}

std::optional<SlurmCommand> SlurmView::Impl::host_file(const DrivenJob& mine,
                                                       const std::vector<std::string>& ranked) const {
  if (options.hosts.empty()) {
    return std::nullopt;
  }
  const std::int32_t job_nodes = std::max(mine.slurm->nodes, 1);
  const std::int32_t each =
      mine.slurm->tasks % job_nodes == 0 ? std::max(mine.slurm->tasks / job_nodes, 1) : 1;
  SlurmCommand command{
      .words = {}, .file = options.hosts / fmt::format("{}.hosts", mine.slurm->id), .text = {}};
  for (const std::string& name : ranked) {
    for (std::int32_t task = 0; task < each; ++task) {
      command.text += name + "\n";
    }
  }
  return command;
}

std::vector<std::string> SlurmView::Impl::users_of(JobId owner) const {
  std::vector<std::string> users;
  if (const auto mine = driven.find(owner); mine != driven.end()) {
    users.push_back(mine->second.slurm->user);
  }
  const std::string name = reservation_name(owner);
  for (const JobId id : released) {
    const SlurmJob& job = *driven.at(id).slurm;
    if (job.reservation == name) {
      users.push_back(job.user);
    }
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

SlurmZone SlurmView::Impl::reservation_of(const Zone& zone) const {
  SlurmZone made{
      .name = reservation_name(zone.job),
      .start = zone.kind == ZoneKind::kClaim ? state.now : std::max(zone.arrival, state.now),
      .end = std::clamp(std::max(zone.end, zone.expires), state.now + 60, state.now + kLongestReservation),
      .nodes = {},
      .users = users_of(zone.job)};
  for (const HostId host : zone.hosts) {
    made.nodes.push_back(cluster.names[static_cast<std::size_t>(host)]);
  }
  std::sort(made.nodes.begin(), made.nodes.end(), place::natural_less);
  return made;
}

std::optional<SlurmCommand> SlurmView::Impl::settle_reservation(const Zone& zone) const {
  const SlurmZone wanted = reservation_of(zone);
  const SlurmReservation* present = reservation(wanted.name);
  if (present == nullptr) {
    return create_reservation(wanted, state.now);
  }
  const bool moved = present->start > state.now && wanted.start != present->start;
  if (present->nodes != wanted.nodes || moved) {
    return update_reservation(wanted, state.now);
  }
  if (present->users != wanted.users) {
    return update_reservation_users(wanted.name, wanted.users);
  }
  return std::nullopt;
}

SlurmAction SlurmView::Impl::requeue_action(JobId job, JobId in_favour, std::string reason) const {
  const SlurmNote note{.kind = NoteKind::kLeaving,
                       .digest = {},
                       .victims = {},
                       .since = state.now,
                       .in_favour = in_favour,
                       .why = {}};
  return {.kind = "requeue",
          .job = job,
          .reason = std::move(reason),
          .commands = {update_job(job, {{"AdminComment", to_text(note)}}),
                       options.grace > 0 ? signal_job(job) : requeue_job(job)}};
}

SlurmAction SlurmView::Impl::drop_action(JobId job) const {
  const std::string name = reservation_name(job);
  SlurmAction action{.kind = "release-zone", .job = job, .reason = "its zone is dropped", .commands = {}};
  if (driven.contains(job)) {
    const SlurmNote note{.kind = NoteKind::kWaits, .digest = {}, .victims = {}, .why = {}};
    action.commands.push_back(
        update_job(job, {{"AdminComment", to_text(note)}, {"ReqNodeList", ""}, {"ReservationName", ""}}));
  }
  const bool used = std::any_of(state.jobs.begin(), state.jobs.end(), [&](const SlurmJob& one) {
    return one.reservation == name && one.id != job && one.phase != SlurmPhase::kEnded;
  });
  if (reservation(name) != nullptr && !used) {
    action.commands.push_back(delete_reservation(name));
  }
  return action;
}

SlurmAction SlurmView::Impl::reserve_action(const Zone& zone, const Plan& plan) const {
  const DrivenJob& mine = driven.at(zone.job);
  const std::vector<std::string> ranked = ranked_names(mine, zone.hosts);
  SlurmNote note{.kind = NoteKind::kZone,
                 .has_zone = true,
                 .zone = zone.kind,
                 .arrival = zone.arrival,
                 .end = std::min(zone.end, kNever),
                 .expires = std::min(zone.expires, kNever),
                 .objective = zone.objective,
                 .bound = zone.bound,
                 .digest = digest_of(ranked),
                 .victims = {},
                 .why = {}};
  if (zone.kind == ZoneKind::kClaim) {
    for (const Requeue& requeue : plan.requeues) {
      if (requeue.in_favour == zone.job) {
        note.victims.push_back(requeue.job);
      }
    }
  }
  SlurmAction action{
      .kind = "reserve",
      .job = zone.job,
      .reason = zone.kind == ZoneKind::kClaim
                    ? fmt::format("its hosts are being emptied for it; J {:.4g}, bound {:.4g}",
                                  zone.objective, zone.bound)
                    : fmt::format("planned for {} s from now; J {:.4g}, bound {:.4g}",
                                  std::max<Time>(0, zone.arrival - state.now), zone.objective, zone.bound),
      .commands = {update_job(zone.job, {{"ReqNodeList", fmt::format("{}", fmt::join(ranked, ","))},
                                         {"AdminComment", to_text(note)}})}};
  if (std::optional<SlurmCommand> command = settle_reservation(zone)) {
    action.commands.push_back(std::move(*command));
  }
  return action;
}

std::optional<std::string> SlurmView::Impl::enter_zone(const Start& start, std::span<const Zone> held,
                                                       SlurmAction& action) const {
  const DrivenJob& mine = driven.at(start.job);
  std::string inside;
  for (const Zone& zone : held) {
    // Slurm itself lets in whom its limit ends before the zone begins; others have to name the reservation.
    if (zone.kind == ZoneKind::kOutside || slurm_end(mine, state.now) <= zone.arrival ||
        shared_hosts(start.hosts, zone.hosts).empty()) {
      continue;
    }
    if (!inside.empty()) {
      return std::nullopt;
    }
    inside = reservation_name(zone.job);
    const SlurmReservation* present = reservation(inside);
    std::vector<std::string> users = present != nullptr ? present->users : users_of(zone.job);
    if (std::find(users.begin(), users.end(), mine.slurm->user) == users.end()) {
      users.push_back(mine.slurm->user);
      std::sort(users.begin(), users.end());
      action.commands.push_back(update_reservation_users(inside, users));
    }
    action.reason += fmt::format("; in the zone of job {} until it arrives", zone.job);
  }
  return inside;
}

SlurmAction SlurmView::Impl::start_action(const Start& start, std::span<const Zone> held) const {
  const DrivenJob& mine = driven.at(start.job);
  const std::vector<std::string> ranked = ranked_names(mine, start.hosts);
  SlurmNote note{.kind = NoteKind::kPlaced,
                 .objective = start.objective,
                 .bound = start.bound,
                 .digest = digest_of(ranked),
                 .victims = {},
                 .why = {}};
  SlurmAction action{.kind = "start",
                     .job = start.job,
                     .reason = fmt::format("J {:.4g}, bound {:.4g}", start.objective, start.bound),
                     .commands = {}};
  std::string inside;
  const Zone* own = zone_of(start.job);
  if (own != nullptr && reservation(reservation_name(start.job)) != nullptr) {
    inside = reservation_name(start.job);
    note.has_zone = true;
    note.zone = own->kind;
    note.arrival = own->arrival;
    note.end = own->end;
    note.expires = own->expires;
    action.reason += "; in its zone";
  }
  if (own == nullptr) {
    const std::optional<std::string> entered = enter_zone(start, held, action);
    if (!entered) {
      return {.kind = "defer",
              .job = start.job,
              .reason = "its hosts lie in two zones, and Slurm lets a job into one reservation",
              .commands = {}};
    }
    inside = *entered;
  }
  SlurmSettings settings = {{"ReqNodeList", fmt::format("{}", fmt::join(ranked, ","))},
                            {"NumNodes", fmt::format("{0}-{0}", ranked.size())},
                            {"StartTime", earliest_start(*mine.slurm)},
                            {"ReservationName", inside},
                            {"AdminComment", to_text(note)}};
  if (mine.slurm->limit >= kNever && mine.request.estimate > 0) {
    settings.emplace_back("TimeLimit", std::to_string((mine.request.estimate + 59) / 60));
  }
  action.commands.push_back(update_job(start.job, settings));
  if (std::optional<SlurmCommand> file = host_file(mine, ranked)) {
    action.commands.push_back(std::move(*file));
  }
  action.commands.push_back(release_job(start.job));
  return action;
}

std::vector<SlurmAction> SlurmView::carry_out(const Plan& plan) const {
  const Impl& view = *impl_;
  std::vector<Zone> held = view.zones;
  std::vector<SlurmAction> actions;
  for (const JobId job : plan.releases) {
    actions.push_back(view.drop_action(job));
    std::erase_if(held, [&](const Zone& zone) { return zone.job == job; });
  }
  for (const Zone& zone : plan.reserves) {
    actions.push_back(view.reserve_action(zone, plan));
    std::erase_if(held, [&](const Zone& old) { return old.job == zone.job; });
    held.push_back(zone);
  }
  for (const Requeue& requeue : plan.requeues) {
    actions.push_back(view.requeue_action(requeue.job, requeue.in_favour,
                                          fmt::format("its hosts go to job {}", requeue.in_favour)));
  }
  for (const Start& start : plan.starts) {
    actions.push_back(view.start_action(start, held));
  }
  return actions;
}

}  // namespace rudder::sched
