// SPDX-License-Identifier: Apache-2.0
// Command lines of Slurm's clients, as 22.05 takes them. Each may be given twice.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/sched/slurm_engine.h"

namespace rudder::sched {

using SlurmSettings = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] SlurmCommand update_job(JobId job, const SlurmSettings& settings);
/// When a job may begin, as update_job() takes it: at once; if it was requeued, kRequeueRest after that by
/// Slurm's clock. On the nodes that it ran on, its credential is void until their clock's next second: a job
/// that starts before is ended for good.
[[nodiscard]] std::string earliest_start(const SlurmJob& job);
/// Seconds; so far may a node's clock be ahead of the controller's.
inline constexpr Time kRequeueRest = 5;
[[nodiscard]] SlurmCommand release_job(JobId job);
/// A hold that the job's own user, and the planner, may lift.
[[nodiscard]] SlurmCommand hold_job(JobId job);
/// Ends the whole gang (SIGTERM, after Slurm's KillWait SIGKILL) and puts it back into the queue, held.
[[nodiscard]] SlurmCommand requeue_job(JobId job);
/// To the batch script and all steps.
[[nodiscard]] SlurmCommand signal_job(JobId job);
[[nodiscard]] SlurmCommand delete_reservation(const std::string& name);

/// A zone as a reservation: jobs that name it may start before it begins and end after it (FLEX), and those
/// that run on its nodes now do not stand in the way of making it (IGNORE_JOBS).
struct SlurmZone {
  std::string name;
  Time start = 0;
  Time end = 0;
  std::vector<std::string> nodes;
  std::vector<std::string> users;  ///< sorted
};
[[nodiscard]] SlurmCommand create_reservation(const SlurmZone& zone, Time now);
[[nodiscard]] SlurmCommand update_reservation(const SlurmZone& zone, Time now);
[[nodiscard]] SlurmCommand update_reservation_users(const std::string& name,
                                                    const std::vector<std::string>& users);

/// "rudder-17" of job 17, and back; 0 for names that are no planner's.
[[nodiscard]] std::string reservation_name(JobId job);
[[nodiscard]] JobId reservation_owner(std::string_view name);

}  // namespace rudder::sched
