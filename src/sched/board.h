// SPDX-License-Identifier: Apache-2.0
// The working copy of a snapshot in which one cycle makes its plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/sched/planner.h"

#include "sched/gang_placer.h"

namespace rudder::sched {

/// GPUs of a host that come free.
struct ReleaseOf {
  Time at = 0;
  HostId host = 0;
  std::int32_t gpus = 0;
};

/// A host is not to be used in [arrival, end), except by the zone's own job.
struct Hold {
  Time arrival = 0;
  Time end = 0;
  bool planned = false;  ///< of a planned job: preemptible jobs may stay until they are told to leave
  JobId job = -1;        ///< whose
};

class Board {
 public:
  explicit Board(const Snapshot& snapshot);

  [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
  [[nodiscard]] const Cluster& cluster() const noexcept { return *snapshot_.cluster; }
  [[nodiscard]] Time now() const noexcept { return snapshot_.now; }
  [[nodiscard]] std::size_t hosts() const noexcept { return free_.size(); }
  [[nodiscard]] std::int32_t free(HostId host) const noexcept { return free_[index(host)]; }
  [[nodiscard]] bool up(HostId host) const noexcept { return snapshot_.nodes[index(host)].up; }
  [[nodiscard]] std::span<const Hold> holds(HostId host) const noexcept { return holds_[index(host)]; }
  [[nodiscard]] std::int64_t free_gpus() const noexcept { return free_gpus_; }

  /// Takes the GPUs of a job that this plan starts.
  void take(const JobSpec& job, std::span<const HostId> hosts, Time estimate);
  void hold(std::span<const HostId> hosts, Hold hold);
  /// Whether a job of `length` seconds from `at` keeps off all holds of the host; `zones` false looks only at
  /// holds that are no planned zones. Holds of `own` do not count.
  [[nodiscard]] bool clear(HostId host, Time at, Time length, bool zones, JobId own = -1) const noexcept;
  [[nodiscard]] bool in_zone(HostId host) const noexcept;
  /// Runs on a host that the snapshot lists.
  [[nodiscard]] std::span<const RunningJob* const> running_on(HostId host);
  /// Expected releases of all running jobs and of those that this plan starts, by time.
  [[nodiscard]] std::span<const ReleaseOf> releases();
  [[nodiscard]] const WaitingJob* waiting(JobId job) const noexcept;

 private:
  static std::size_t index(HostId host) noexcept { return static_cast<std::size_t>(host); }

  const Snapshot& snapshot_;
  std::vector<std::int32_t> free_;  ///< 0 on hosts that are down
  std::int64_t free_gpus_ = 0;
  std::vector<std::vector<Hold>> holds_;
  std::vector<ReleaseOf> releases_;
  std::vector<ReleaseOf> started_;
  bool releases_known_ = false;
  std::vector<std::vector<const RunningJob*>> running_on_;
};

/// GPU-seconds that a requeue loses: work since the last checkpoint and the restart.
[[nodiscard]] double requeue_cost(const RunningJob& run, Time now) noexcept;

}  // namespace rudder::sched
