// SPDX-License-Identifier: Apache-2.0
// One planning cycle. The steps are in four sources: cycle.cc (order and starts), zones.cc (planned jobs),
// head.cc (the first delayed job's hosts), victims.cc (preemption).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/sched/planner.h"

#include "sched/board.h"
#include "sched/gang_placer.h"

namespace rudder::sched {

class Cycle {
 public:
  Cycle(const Snapshot& snapshot, const PlannerOptions& options, GangPlacer& placer);
  [[nodiscard]] Plan run();

 private:
  // zones.cc
  void settle_zones();
  void settle_planned(const Zone& zone, const WaitingJob& entry);
  void settle_claim(const Zone& zone, const WaitingJob& entry);
  void start_zone(const Zone& zone, const WaitingJob& entry);
  void empty_zone(const Zone& zone, const JobSpec& job);
  void keep_zone(const Zone& zone);
  [[nodiscard]] bool vacant(const Zone& zone, const JobSpec& job) const;
  [[nodiscard]] bool usable_at(HostId host, const JobSpec& job, Time arrival, Time estimate);
  /// When those who cannot be requeued are expected to have left the host; kNever where the job cannot run.
  [[nodiscard]] Time stays_until(HostId host, const JobSpec& job);
  /// The job's arrival, or the earliest later time at which enough hosts are usable.
  [[nodiscard]] Time zone_arrival(const WaitingJob& entry);
  [[nodiscard]] bool settled_in_this_cycle(JobId job) const;
  [[nodiscard]] std::optional<Zone> repaired(const Zone& zone, const WaitingJob& entry);
  [[nodiscard]] std::optional<HostId> replacement(const Zone& zone, std::size_t cell,
                                                  const WaitingJob& entry);
  [[nodiscard]] double zone_objective(const JobSpec& job, std::span<const HostId> hosts) const;
  [[nodiscard]] double disturbance(HostId host, Time arrival);
  void plan_zones();
  /// Makes a zone when one can be had that arrives before `before`.
  void plan_zone(const WaitingJob& entry, Time before);

  // cycle.cc
  void sort_queue();
  void walk();
  void walk_borrowers();
  /// Starts, preempts or delays one job; false when nobody behind it is to be looked at.
  [[nodiscard]] bool consider(const WaitingJob& entry);
  [[nodiscard]] bool try_start(const WaitingJob& entry);
  [[nodiscard]] std::optional<HostId> one_host(const WaitingJob& entry) const;
  [[nodiscard]] bool allowed(HostId host, const WaitingJob& entry) const;
  [[nodiscard]] bool known_to_fail(const WaitingJob& entry) const;
  void start(const WaitingJob& entry, Allocation allocation, bool in_zone);
  void delay(const WaitingJob& entry, Delay reason);
  [[nodiscard]] bool has_zone(JobId job) const;

  // head.cc
  void plan_head(const WaitingJob& entry);

  // victims.cc
  struct Removal {
    std::vector<HostId> hosts;
    std::vector<const RunningJob*> victims;
    double objective = 0;
    double bound = 0;
    double cost = 0;
  };
  [[nodiscard]] bool try_preempt(const WaitingJob& entry);
  [[nodiscard]] bool any_victim(const JobSpec& job);
  [[nodiscard]] bool is_victim(const RunningJob& run, const JobSpec& job) const;
  [[nodiscard]] std::vector<Candidate> removable(const WaitingJob& entry);
  [[nodiscard]] std::optional<Removal> cheapest_removal(const WaitingJob& entry);
  [[nodiscard]] Removal removal_in(const JobSpec& job, std::span<const Candidate> domain);
  void add_victims(HostId host, const JobSpec& job, std::vector<const RunningJob*>& victims);
  [[nodiscard]] double removal_cost(HostId host, const JobSpec& job,
                                    const std::vector<const RunningJob*>& victims);

  // quotas
  [[nodiscard]] bool within_quota(const JobSpec& job) const;
  [[nodiscard]] bool others_wait(TenantId tenant) const;

  struct Failure {
    std::int32_t nodes = 0;
    std::int32_t gpus = 0;
    Time estimate = 0;
    Time min_runtime = 0;
    bool preemptible = false;
  };

  const Snapshot& snapshot_;
  const PlannerOptions& options_;
  GangPlacer& placer_;
  Board board_;
  Plan plan_;
  std::span<const WaitingJob> queue_;         ///< in order
  std::vector<WaitingJob> sorted_;            ///< behind queue_ when the snapshot was not sorted
  std::vector<const WaitingJob*> borrowers_;  ///< beyond their tenant's share
  std::vector<JobId> zoned_;                  ///< waiting jobs that have a zone in this cycle
  std::vector<const RunningJob*> leaving_;    ///< told to leave by this plan
  std::vector<Failure> failures_;             ///< least demands that did not fit
  std::vector<std::int64_t> usage_;           ///< GPUs of each tenant
  std::vector<TenantId> short_of_share_;      ///< tenants whose jobs wait within their share
  std::vector<Candidate> candidates_;
  std::optional<std::int32_t> lowest_victim_;  ///< least priority of what may be requeued
  std::int32_t delayed_ = 0;
};

}  // namespace rudder::sched
