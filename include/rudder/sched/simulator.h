// SPDX-License-Identifier: Apache-2.0
// A simulated cluster: the engine that runs a trace through the planner, event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rudder/sched/planner.h"

namespace rudder::sched {

/// A job with what only the simulator knows.
struct TraceJob {
  JobSpec spec;
  Time duration = 1;    ///< seconds of work
  bool failed = false;  ///< its user or its program ended it early
  Time predicted = 0;   ///< somebody's prediction that came with the trace; 0: none
};

struct Trace {
  std::vector<TraceJob> jobs;  ///< by (submit, id)
  std::vector<std::string> tenants;
  std::int64_t epoch = 0;    ///< time 0, in seconds since 1970; 0: unknown
  std::int64_t skipped = 0;  ///< records without GPUs, without a start, or without a run time
};

/// A host that is down in [from, to).
struct Outage {
  HostId host = 0;
  Time from = 0;
  Time to = 0;
};

struct SimOptions {
  PlannerOptions planner;
  Quotas quotas;
  std::vector<Outage> outages;
  /// Predicted run time of each trace job; empty: the planner is told the truth (the oracle).
  std::vector<Time> estimates;
  /// Called before each plan is carried out; for tests and displays.
  std::function<void(const Snapshot&, const Plan&)> observer;
};

enum class RunEnd : std::uint8_t { kDone, kLimit, kPreempted, kFailedNode };

/// One stay of a job on its hosts.
struct RunRecord {
  std::int32_t job = 0;  ///< index in the trace
  Time start = 0;
  Time end = 0;
  RunEnd how = RunEnd::kDone;
  bool in_zone = false;
  double objective = 0;
  double bound = 0;
  Time lost = 0;              ///< seconds of this stay that have to be done again
  std::vector<HostId> hosts;  ///< in rank order
};

struct ZoneRecord {
  std::int32_t job = 0;
  Time planned = 0;  ///< when the zone was made
  Time arrival = 0;
  double retention = 0;  ///< share of its hosts that are occupied at the arrival
  std::vector<HostId> hosts;
};

struct JobRecord {
  Time first_start = -1;  ///< -1: never
  Time end = -1;          ///< -1: never ended
  std::int32_t preemptions = 0;
  std::int32_t node_failures = 0;
  bool rejected = false;  ///< more than the cluster or its tenant's static share could ever give
};

struct SimResult {
  std::vector<JobRecord> jobs;    ///< of each trace job
  std::vector<RunRecord> runs;    ///< by start
  std::vector<ZoneRecord> zones;  ///< of planned jobs, by arrival
  Time begin = 0;                 ///< first submission
  Time end = 0;                   ///< last event of a job
  double used_gpu_seconds = 0;
  double up_gpu_seconds = 0;  ///< of hosts that are up, from begin to end
  /// Of the idle hosts, those that rows of four nodes inside minipods cannot use (fragmentation), and idle
  /// hosts, both integrated over time.
  double unalignable_host_seconds = 0;
  double idle_host_seconds = 0;
  std::int64_t cycles = 0;
};

/// Deterministic. Errors: kInvalidArgument when estimates do not match the trace or an outage names no host;
/// a job that check_job refuses.
[[nodiscard]] Result<SimResult> simulate(const Cluster& cluster, const Trace& trace,
                                         const SimOptions& options);

}  // namespace rudder::sched
