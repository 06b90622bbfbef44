// SPDX-License-Identifier: Apache-2.0
// Zones of planned jobs and claims of preempting ones: kept, repaired, emptied, dropped, made.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "sched/cycle.h"

namespace rudder::sched {

bool Cycle::vacant(const Zone& zone, const JobSpec& job) const {
  return std::all_of(zone.hosts.begin(), zone.hosts.end(),
                     [&](HostId host) { return board_.free(host) >= job.gpus; });
}

void Cycle::keep_zone(const Zone& zone) {
  board_.hold(zone.hosts, {.arrival = zone.arrival,
                           .end = zone.end,
                           .planned = zone.kind == ZoneKind::kPlanned,
                           .job = zone.job});
  zoned_.push_back(zone.job);
}

void Cycle::start_zone(const Zone& zone, const WaitingJob& entry) {
  start(entry, {.hosts = zone.hosts, .objective = zone.objective, .bound = zone.bound}, false);
}

void Cycle::empty_zone(const Zone& zone, const JobSpec& job) {
  for (const HostId host : zone.hosts) {
    if (board_.free(host) >= job.gpus) {
      continue;
    }
    for (const RunningJob* run : board_.running_on(host)) {
      const bool told = run->leaving || std::find(leaving_.begin(), leaving_.end(), run) != leaving_.end();
      if (!told && !run->job->planned()) {
        leaving_.push_back(run);
        plan_.requeues.push_back({.job = run->job->id, .in_favour = job.id});
      }
    }
  }
}

double Cycle::zone_objective(const JobSpec& job, std::span<const HostId> hosts) const {
  place::Cells cells;
  for (const HostId host : hosts) {
    cells.push_back(board_.cluster().minipod[static_cast<std::size_t>(host)]);
  }
  if (job.grid.cells() == 0) {
    std::sort(cells.begin(), cells.end());
    return static_cast<double>(std::unique(cells.begin(), cells.end()) - cells.begin());
  }
  const place::Spread spread = place::spread_of(job.grid, cells);
  return job.alpha * spread.Q + (1 - job.alpha) * spread.S;
}

bool Cycle::usable_at(HostId host, const JobSpec& job, Time arrival, Time estimate) {
  return stays_until(host, job) <= arrival && board_.clear(host, arrival, estimate, true, job.id);
}

Time Cycle::stays_until(HostId host, const JobSpec& job) {
  const bool started_now = std::any_of(plan_.starts.begin(), plan_.starts.end(), [&](const Start& started) {
    return std::find(started.hosts.begin(), started.hosts.end(), host) != started.hosts.end();
  });
  if (started_now || !board_.up(host) || board_.cluster().gpus[static_cast<std::size_t>(host)] < job.gpus) {
    return kNever;
  }
  Time last = board_.now();
  for (const RunningJob* run : board_.running_on(host)) {
    if (!run->job->preemptible || run->job->planned()) {
      last = std::max(last, expected_end(*run, board_.now()));
    }
  }
  return last;
}

Time Cycle::zone_arrival(const WaitingJob& entry) {
  const Time wanted = std::max(entry.job->arrival, board_.now());
  std::vector<Time> from;
  for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
    const Time stays = stays_until(host, *entry.job);
    if (stays < kNever) {
      from.push_back(std::max(wanted, stays));
    }
  }
  const auto nodes = static_cast<std::size_t>(entry.job->nodes);
  if (from.size() < nodes) {
    return kNever;
  }
  const auto last = from.begin() + static_cast<std::ptrdiff_t>(nodes) - 1;
  std::nth_element(from.begin(), last, from.end());
  return *last;
}

double Cycle::disturbance(HostId host, Time arrival) {
  double cost = 0;
  for (const RunningJob* run : board_.running_on(host)) {
    // Who is expected to be gone costs little, but an idle host is surer.
    cost += expected_end(*run, board_.now()) <= arrival ? 1.0 : 1.0 + requeue_cost(*run, board_.now());
  }
  return cost;
}

std::optional<HostId> Cycle::replacement(const Zone& zone, std::size_t cell, const WaitingJob& entry) {
  const std::vector<MinipodId>& minipod = board_.cluster().minipod;
  const MinipodId lost = minipod[static_cast<std::size_t>(zone.hosts[cell])];
  std::vector<HostId> trial = zone.hosts;
  std::optional<HostId> best;
  std::tuple<bool, double, double> least;
  for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
    if (std::find(zone.hosts.begin(), zone.hosts.end(), host) != zone.hosts.end() ||
        !usable_at(host, *entry.job, std::max(zone.arrival, board_.now()), entry.estimate)) {
      continue;
    }
    trial[cell] = host;
    const std::tuple key(minipod[static_cast<std::size_t>(host)] != lost, zone_objective(*entry.job, trial),
                         disturbance(host, zone.arrival));
    if (!best || key < least) {
      best = host;
      least = key;
    }
  }
  return best;
}

std::optional<Zone> Cycle::repaired(const Zone& zone, const WaitingJob& entry) {
  Zone changed = zone;
  const auto hopeless = [&](HostId host) {
    if (!board_.up(host)) {
      return true;
    }
    const auto runs = board_.running_on(host);
    return board_.now() >= zone.arrival && board_.free(host) < entry.job->gpus &&
           std::any_of(runs.begin(), runs.end(), [](const RunningJob* run) { return run->job->planned(); });
  };
  for (std::size_t cell = 0; cell < changed.hosts.size(); ++cell) {
    if (!hopeless(changed.hosts[cell])) {
      continue;
    }
    const std::optional<HostId> other = replacement(changed, cell, entry);
    if (!other) {
      return std::nullopt;
    }
    changed.hosts[cell] = *other;
  }
  if (changed.hosts != zone.hosts) {
    changed.objective = zone_objective(*entry.job, changed.hosts);
  }
  return changed;
}

void Cycle::settle_planned(const Zone& zone, const WaitingJob& entry) {
  const std::optional<Zone> valid = repaired(zone, entry);
  if (!valid || board_.now() >= zone.expires) {
    plan_.releases.push_back(zone.job);
    return;
  }
  if (board_.now() >= entry.job->arrival && vacant(*valid, *entry.job)) {
    start_zone(*valid, entry);
    return;
  }
  if (board_.now() >= valid->arrival) {
    empty_zone(*valid, *entry.job);
  }
  if (valid->hosts != zone.hosts) {
    keep_zone(*valid);
    plan_.reserves.push_back(*valid);
  }
}

void Cycle::settle_claim(const Zone& zone, const WaitingJob& entry) {
  const bool all_up =
      std::all_of(zone.hosts.begin(), zone.hosts.end(), [&](HostId host) { return board_.up(host); });
  if (!all_up || board_.now() >= zone.expires) {
    plan_.releases.push_back(zone.job);
  } else if (vacant(zone, *entry.job)) {
    start_zone(zone, entry);
  }
}

void Cycle::settle_zones() {
  // All holds first: the repair of one zone must not take hosts of another.
  for (const Zone& zone : snapshot_.zones) {
    keep_zone(zone);
  }
  for (const Zone& zone : snapshot_.zones) {
    if (zone.kind == ZoneKind::kOutside) {
      continue;
    }
    const WaitingJob* entry = board_.waiting(zone.job);
    if (entry == nullptr) {
      plan_.releases.push_back(zone.job);
    } else if (zone.kind == ZoneKind::kPlanned) {
      settle_planned(zone, *entry);
    } else {
      settle_claim(zone, *entry);
    }
  }
}

void Cycle::plan_zone(const WaitingJob& entry, Time before) {
  const JobSpec& job = *entry.job;
  const Time arrival = zone_arrival(entry);
  if (arrival >= before) {
    return;
  }
  candidates_.clear();
  for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
    if (usable_at(host, job, arrival, entry.estimate)) {
      candidates_.push_back({.host = host, .cost = disturbance(host, arrival)});
    }
  }
  std::optional<Allocation> found = placer_.place(board_.cluster(), job, candidates_, Side::kLast);
  if (!found) {
    return;
  }
  Zone zone{.job = job.id,
            .kind = ZoneKind::kPlanned,
            .arrival = arrival,
            .end = arrival + entry.estimate,
            .expires = arrival + options_.grace + options_.patience,
            .hosts = std::move(found->hosts),
            .objective = found->objective,
            .bound = found->bound};
  keep_zone(zone);
  plan_.reserves.push_back(std::move(zone));
}

void Cycle::plan_zones() {
  // Planned jobs are a class of their own at the head of the queue.
  for (const WaitingJob& entry : queue_) {
    if (!entry.job->planned()) {
      break;
    }
    const JobId id = entry.job->id;
    const auto zone = std::find_if(snapshot_.zones.begin(), snapshot_.zones.end(),
                                   [&](const Zone& other) { return other.job == id; });
    if (!has_zone(id)) {
      plan_zone(entry, kNever);
    } else if (zone != snapshot_.zones.end() && zone->arrival > std::max(entry.job->arrival, board_.now()) &&
               !settled_in_this_cycle(id)) {
      // A zone that comes too late for its job is given up for an earlier one, and for nothing else.
      plan_zone(entry, zone->arrival);
    }
  }
}

bool Cycle::settled_in_this_cycle(JobId job) const {
  const auto is_it = [&](const auto& entry) { return entry.job == job; };
  return std::any_of(plan_.starts.begin(), plan_.starts.end(), is_it) ||
         std::any_of(plan_.reserves.begin(), plan_.reserves.end(), is_it) ||
         std::find(plan_.releases.begin(), plan_.releases.end(), job) != plan_.releases.end();
}

}  // namespace rudder::sched
