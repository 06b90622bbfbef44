// SPDX-License-Identifier: Apache-2.0
// Preemption of whole gangs. Places come first, victims after: every domain that could hold the job, however
// full it is, is looked at with its idle hosts and with everybody who blocks the others, and the cheapest of
// the best placements wins.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "sched/cycle.h"

namespace rudder::sched {

bool Cycle::is_victim(const RunningJob& run, const JobSpec& job) const {
  // Priorities as given, without age: what waits must not take turns in throwing out what runs.
  const bool lower = !run.job->planned() && (job.planned() || run.job->priority < job.priority);
  return lower && run.job->preemptible && !run.leaving && board_.now() - run.start >= run.job->min_runtime &&
         std::find(leaving_.begin(), leaving_.end(), &run) == leaving_.end();
}

bool Cycle::any_victim(const JobSpec& job) {
  if (!lowest_victim_) {
    lowest_victim_ = std::numeric_limits<std::int32_t>::max();
    for (const RunningJob& run : snapshot_.running) {
      if (run.job->preemptible && !run.job->planned()) {
        lowest_victim_ = std::min(*lowest_victim_, run.job->priority);
      }
    }
  }
  const bool possible = job.planned() ? *lowest_victim_ < std::numeric_limits<std::int32_t>::max()
                                      : *lowest_victim_ < job.priority;
  return possible && std::any_of(snapshot_.running.begin(), snapshot_.running.end(),
                                 [&](const RunningJob& run) { return is_victim(run, job); });
}

std::vector<Candidate> Cycle::removable(const WaitingJob& entry) {
  const JobSpec& job = *entry.job;
  const Time length = options_.grace + entry.estimate;
  std::vector<Candidate> all;
  for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
    if (!board_.up(host) || !board_.clear(host, board_.now(), length, true)) {
      continue;
    }
    std::int32_t gpus = board_.free(host);
    for (const RunningJob* run : board_.running_on(host)) {
      gpus += is_victim(*run, job) ? run->job->gpus : 0;
    }
    if (gpus >= job.gpus) {
      all.push_back({.host = host, .cost = removal_cost(host, job, {})});
    }
  }
  return all;
}

/// Cheapest first, those in `victims` being free already, until the job fits on the host.
void Cycle::add_victims(HostId host, const JobSpec& job, std::vector<const RunningJob*>& victims) {
  std::int32_t gpus = board_.free(host);
  std::vector<const RunningJob*> more;
  for (const RunningJob* run : board_.running_on(host)) {
    if (std::find(victims.begin(), victims.end(), run) != victims.end()) {
      gpus += run->job->gpus;
    } else if (is_victim(*run, job)) {
      more.push_back(run);
    }
  }
  std::sort(more.begin(), more.end(), [&](const RunningJob* a, const RunningJob* b) {
    return std::pair(requeue_cost(*a, board_.now()), a->job->id) <
           std::pair(requeue_cost(*b, board_.now()), b->job->id);
  });
  for (const RunningJob* run : more) {
    if (gpus >= job.gpus) {
      break;
    }
    gpus += run->job->gpus;
    victims.push_back(run);
  }
}

double Cycle::removal_cost(HostId host, const JobSpec& job, const std::vector<const RunningJob*>& victims) {
  std::vector<const RunningJob*> all = victims;
  add_victims(host, job, all);
  double cost = 0;
  for (std::size_t i = victims.size(); i < all.size(); ++i) {
    cost += requeue_cost(*all[i], board_.now());
  }
  return cost;
}

Cycle::Removal Cycle::removal_in(const JobSpec& job, std::span<const Candidate> domain) {
  Removal removal{.hosts = {}, .victims = {}, .objective = 1, .bound = 1, .cost = 0};
  std::vector<Candidate> left(domain.begin(), domain.end());
  while (removal.hosts.size() < static_cast<std::size_t>(job.nodes)) {
    // One gang on several hosts is paid once: the other hosts cost less after the first was chosen.
    for (Candidate& candidate : left) {
      if (candidate.cost > 0) {
        candidate.cost = removal_cost(candidate.host, job, removal.victims);
      }
    }
    const auto least = std::min_element(left.begin(), left.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.cost, a.host) < std::pair(b.cost, b.host);
    });
    removal.hosts.push_back(least->host);
    add_victims(least->host, job, removal.victims);
    left.erase(least);
  }
  std::sort(removal.hosts.begin(), removal.hosts.end());
  return removal;
}

std::optional<Cycle::Removal> Cycle::cheapest_removal(const WaitingJob& entry) {
  const JobSpec& job = *entry.job;
  const std::vector<Candidate> all = removable(entry);
  if (all.size() < static_cast<std::size_t>(job.nodes)) {
    return std::nullopt;
  }
  std::optional<Removal> best;
  const auto offer = [&](Removal removal) {
    for (const RunningJob* victim : removal.victims) {
      removal.cost += requeue_cost(*victim, board_.now());
    }
    if (!best || std::pair(removal.objective, removal.cost) < std::pair(best->objective, best->cost)) {
      best = std::move(removal);
    }
  };
  std::vector<std::vector<Candidate>> domains(board_.cluster().minipods());
  for (const Candidate& candidate : all) {
    domains[static_cast<std::size_t>(board_.cluster().minipod[static_cast<std::size_t>(candidate.host)])]
        .push_back(candidate);
  }
  for (const std::vector<Candidate>& domain : domains) {
    if (domain.size() >= static_cast<std::size_t>(job.nodes)) {
      offer(removal_in(job, domain));
    }
  }
  if (!best) {
    if (std::optional<Allocation> found = placer_.place(board_.cluster(), job, all, Side::kFirst)) {
      Removal removal{.hosts = std::move(found->hosts),
                      .victims = {},
                      .objective = found->objective,
                      .bound = found->bound,
                      .cost = 0};
      for (const HostId host : removal.hosts) {
        add_victims(host, job, removal.victims);
      }
      offer(std::move(removal));
    }
  }
  return best;
}

bool Cycle::try_preempt(const WaitingJob& entry) {
  if (!options_.preemption || !any_victim(*entry.job)) {
    return false;
  }
  std::optional<Removal> removal = cheapest_removal(entry);
  if (!removal || removal->victims.empty()) {
    return false;
  }
  for (const RunningJob* victim : removal->victims) {
    leaving_.push_back(victim);
    plan_.requeues.push_back({.job = victim->job->id, .in_favour = entry.job->id});
  }
  const Time arrival = board_.now() + options_.grace;
  Zone claim{.job = entry.job->id,
             .kind = ZoneKind::kClaim,
             .arrival = arrival,
             .end = arrival + entry.estimate,
             .expires = arrival + std::max<Time>(1, options_.patience),
             .hosts = std::move(removal->hosts),
             .objective = removal->objective,
             .bound = removal->bound};
  // Nobody else may take the victims' hosts before the claim's own job.
  claim.arrival = board_.now();
  keep_zone(claim);
  claim.arrival = arrival;
  plan_.reserves.push_back(std::move(claim));
  return true;
}

}  // namespace rudder::sched
