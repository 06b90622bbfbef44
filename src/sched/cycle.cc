// SPDX-License-Identifier: Apache-2.0
#include "sched/cycle.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "rudder/core/check.h"

namespace rudder::sched {

Cycle::Cycle(const Snapshot& snapshot, const PlannerOptions& options, GangPlacer& placer)
    : snapshot_(snapshot), options_(options), placer_(placer), board_(snapshot) {
  if (snapshot.quotas != nullptr && snapshot.quotas->mode != QuotaMode::kNone) {
    for (const RunningJob& run : snapshot.running) {
      const auto tenant = static_cast<std::size_t>(run.job->tenant);
      usage_.resize(std::max(usage_.size(), tenant + 1));
      usage_[tenant] += run.job->all_gpus();
    }
  }
}

Plan Cycle::run() {
  sort_queue();
  settle_zones();
  if (options_.policy == Policy::kReserve) {
    plan_zones();
  }
  walk();
  return std::move(plan_);
}

bool Cycle::has_zone(JobId job) const {
  return std::find(zoned_.begin(), zoned_.end(), job) != zoned_.end();
}

void Cycle::delay(const WaitingJob& entry, Delay reason) {
  if (options_.reasons) {
    plan_.delayed.push_back({.job = entry.job->id, .reason = reason});
  }
}

void Cycle::start(const WaitingJob& entry, Allocation allocation, bool in_zone) {
  const JobSpec& job = *entry.job;
  board_.take(job, allocation.hosts, entry.estimate);
  if (snapshot_.quotas != nullptr && snapshot_.quotas->mode != QuotaMode::kNone) {
    const auto tenant = static_cast<std::size_t>(job.tenant);
    usage_.resize(std::max(usage_.size(), tenant + 1));
    usage_[tenant] += job.all_gpus();
  }
  plan_.starts.push_back({.job = job.id,
                          .hosts = std::move(allocation.hosts),
                          .objective = allocation.objective,
                          .bound = allocation.bound,
                          .in_zone = in_zone});
}

bool Cycle::within_quota(const JobSpec& job) const {
  const auto tenant = static_cast<std::size_t>(job.tenant);
  const std::int64_t used = tenant < usage_.size() ? usage_[tenant] : 0;
  return used + job.all_gpus() <= snapshot_.quotas->of(job.tenant);
}

bool Cycle::others_wait(TenantId tenant) const {
  return std::any_of(short_of_share_.begin(), short_of_share_.end(),
                     [&](TenantId other) { return other != tenant; });
}

bool Cycle::known_to_fail(const WaitingJob& entry) const {
  const JobSpec& job = *entry.job;
  return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& failure) {
    return job.nodes >= failure.nodes && job.gpus >= failure.gpus && entry.estimate >= failure.estimate &&
           (!job.preemptible || (failure.preemptible && job.min_runtime >= failure.min_runtime));
  });
}

bool Cycle::allowed(HostId host, const WaitingJob& entry) const {
  const JobSpec& job = *entry.job;
  if (board_.holds(host).empty() || board_.clear(host, board_.now(), entry.estimate, true)) {
    return true;
  }
  return job.preemptible && board_.clear(host, board_.now(), entry.estimate, false) &&
         board_.clear(host, board_.now(), std::max<Time>(1, job.min_runtime), true);
}

std::optional<HostId> Cycle::one_host(const WaitingJob& entry) const {
  std::optional<HostId> best;
  std::pair<bool, std::int32_t> least;
  for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
    if (board_.free(host) < entry.job->gpus) {
      continue;
    }
    const std::pair key(board_.in_zone(host), board_.free(host));
    if ((!best || key < least) && allowed(host, entry)) {
      best = host;
      least = key;
    }
  }
  return best;
}

bool Cycle::try_start(const WaitingJob& entry) {
  const JobSpec& job = *entry.job;
  if (board_.free_gpus() < job.all_gpus() || known_to_fail(entry)) {
    return false;
  }
  if (job.nodes == 1) {
    if (const std::optional<HostId> host = one_host(entry)) {
      start(entry, {.hosts = {*host}, .objective = 1, .bound = 1}, board_.in_zone(*host));
      return true;
    }
  } else {
    candidates_.clear();
    std::size_t outside = 0;
    for (HostId host = 0; host < static_cast<HostId>(board_.hosts()); ++host) {
      if (board_.free(host) >= job.gpus && allowed(host, entry)) {
        const bool zone = board_.in_zone(host);
        candidates_.push_back({.host = host, .cost = board_.free(host) + (zone ? 1e6 : 0.0)});
        outside += zone ? 0 : 1;
      }
    }
    const bool enters = outside < static_cast<std::size_t>(job.nodes);
    if (!enters) {
      std::erase_if(candidates_, [&](const Candidate& one) { return board_.in_zone(one.host); });
    }
    if (std::optional<Allocation> found = placer_.place(board_.cluster(), job, candidates_, Side::kFirst)) {
      start(entry, std::move(*found), enters);
      return true;
    }
  }
  failures_.push_back({.nodes = job.nodes,
                       .gpus = job.gpus,
                       .estimate = entry.estimate,
                       .min_runtime = job.min_runtime,
                       .preemptible = job.preemptible});
  return false;
}

bool Cycle::consider(const WaitingJob& entry) {
  const JobSpec& job = *entry.job;
  if (has_zone(job.id)) {
    delay(entry, job.planned() && board_.now() < job.arrival ? Delay::kNotArrived : Delay::kVictims);
    return true;
  }
  if (job.planned() && board_.now() < job.arrival) {
    delay(entry, Delay::kNotArrived);
    return true;
  }
  const bool quotas = snapshot_.quotas != nullptr && snapshot_.quotas->mode != QuotaMode::kNone;
  if (try_start(entry) || (options_.policy == Policy::kReserve && try_preempt(entry))) {
    return true;
  }
  if (quotas && within_quota(job)) {
    short_of_share_.push_back(job.tenant);
  }
  ++delayed_;
  delay(entry, board_.free_gpus() < job.all_gpus() ? Delay::kCapacity : Delay::kHeld);
  if (options_.policy == Policy::kFifo) {
    return false;
  }
  if (!plan_.head) {
    plan_head(entry);
  }
  return options_.depth == 0 || delayed_ < options_.depth;
}

void Cycle::sort_queue() {
  queue_ = snapshot_.waiting;
  if (snapshot_.sorted) {
    return;
  }
  sorted_.assign(queue_.begin(), queue_.end());
  std::sort(sorted_.begin(), sorted_.end(), [&](const WaitingJob& a, const WaitingJob& b) {
    return goes_before(*a.job, *b.job, board_.now(), options_.age);
  });
  queue_ = sorted_;
}

void Cycle::walk() {
  const bool quotas = snapshot_.quotas != nullptr && snapshot_.quotas->mode != QuotaMode::kNone;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const WaitingJob& entry = queue_[i];
    if (quotas && !has_zone(entry.job->id) && !within_quota(*entry.job)) {
      if (snapshot_.quotas->mode == QuotaMode::kDynamic) {
        borrowers_.push_back(&entry);
      } else {
        delay(entry, Delay::kQuota);
      }
      continue;
    }
    if (!consider(entry)) {
      const Delay rest = options_.policy == Policy::kFifo ? Delay::kOrder : Delay::kDepth;
      for (std::size_t later = i + 1; options_.reasons && later < queue_.size(); ++later) {
        delay(queue_[later], rest);
      }
      break;
    }
  }
  walk_borrowers();
}

void Cycle::walk_borrowers() {
  for (const WaitingJob* entry : borrowers_) {
    if (!within_quota(*entry->job) && others_wait(entry->job->tenant)) {
      delay(*entry, Delay::kQuota);
    } else if (!consider(*entry)) {
      break;
    }
  }
}

}  // namespace rudder::sched
