// SPDX-License-Identifier: Apache-2.0
// What a simulated schedule is worth.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/sched/simulator.h"

namespace rudder::sched {

struct Distribution {
  std::int64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};
/// Quantiles by nearest rank; all zero when there are no values.
[[nodiscard]] Distribution distribution(std::vector<double> values);

struct ClassDelay {
  std::string name;  ///< planned, preemptible, multi_node, one_node: the first that fits
  Distribution delay;
};

/// Seconds unless a name says otherwise. Jobs that were rejected or never ended are in none of the
/// distributions.
struct SimMetrics {
  std::int64_t jobs = 0;  ///< of the trace
  std::int64_t finished = 0;
  std::int64_t rejected = 0;
  std::int64_t skipped = 0;  ///< records of the trace that are no jobs: no GPUs, no start or no run time
  double allocation = 0;     ///< GPU-seconds held by jobs, as a share of those of hosts that were up
  /// Share of a zone's hosts still occupied at its job's arrival, mean over zones; nothing without zones.
  std::optional<double> retention;
  std::int64_t zones = 0;
  double makespan = 0;       ///< first submission to last end
  Distribution jct;          ///< submission (planned jobs: arrival) to end
  Distribution queue_delay;  ///< submission (planned jobs: arrival) to first start
  std::vector<ClassDelay> queue_delay_by_class;
  Distribution slowdown;  ///< (end - submission) / run time, run times under 10 s counted as 10 s
  std::int64_t preemptions = 0;
  std::int64_t node_failures = 0;     ///< gangs requeued because a host failed
  double preempted_node_minutes = 0;  ///< work done again after preemptions
  double fragmentation =
      0;  ///< share of idle hosts that rows of four hosts in one minipod cannot use, over time
  double objective_ratio = 1;  ///< J / J_lb, mean over starts of more than one host
  double objective_ratio_max = 1;
  std::int64_t zone_admissions = 0;  ///< jobs let into a zone because they were predicted to leave in time
  std::int64_t zone_violations = 0;  ///< of those, requeued because they did not
};

[[nodiscard]] SimMetrics measure(const Cluster& cluster, const Trace& trace, const SimResult& result);

}  // namespace rudder::sched
