// SPDX-License-Identifier: Apache-2.0
// Job traces: readers of what clusters publish or print, and seeded loads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sched/simulator.h"

namespace rudder::sched {

enum class TraceFormat : std::uint8_t {
  kPhilly,      ///< CSV timestamp,duration,num_gpus,gpu_time,cluster
  kPhillyJson,  ///< Philly's cluster_job_log: attempts with hosts and GPUs
  kSacct,       ///< sacct --parsable2 with a header line
  kHelios,      ///< CSV job_id,user,vc,gpu_num,...,submit_time,start_time,end_time,duration
  kAcme,        ///< the same with type, and zones in the times
  kCsv,         ///< this program's own, see docs/scheduling.md
};
/// Errors: kInvalidArgument with a near-miss hint.
[[nodiscard]] Result<TraceFormat> parse_trace_format(std::string_view name);
[[nodiscard]] std::vector<std::string_view> trace_format_names();

/// What traces do not say. No trace holds the user's limits of GPU jobs with the shapes of their gangs.
struct TraceOptions {
  std::int32_t gpus_per_node = 8;
  std::uint64_t seed = 1;
  /// Limits that a trace lacks are its run time times a factor in 1..limit_factor, drawn for each job,
  /// rounded up to what people ask for (15, 30 min, 1, 2, 4, 8, 12 h, 1, 2, 3, 7, 14, 30, 60 d); 1: the exact
  /// run time.
  double limit_factor = 5;
  double preemptible = 0;  ///< share of jobs without priority that may be preempted
  Time checkpoint = 3600;  ///< of preemptible and multi-node jobs
  Time restart = 120;
  std::int32_t max_jobs = 0;    ///< the first so many by submission; 0: all
  bool grids = true;            ///< draw 1, 2, 4 or 8 columns and a weight for jobs of 4 nodes or more
  bool tenant_is_user = false;  ///< tenants are users instead of queues
};

/// Reads a trace. Ids are places in the order of submission; times start at the first submission. Records
/// that never ran or hold no GPU are counted as skipped. Errors: kNotFound, kIo; kInvalidData with file, line
/// and value (JSON: the record's index): missing columns, wrong times or numbers, repeated job ids, no jobs,
/// more than 2^24.
[[nodiscard]] Result<Trace> read_trace(const std::filesystem::path& path, TraceFormat format,
                                       const TraceOptions& options);

/// A load made up of this table (shares, GPUs, median run time, spread of its logarithm):
///   70 % 1 GPU 15 min 1.8 | 12 % 2 30 min 1.8 | 8 % 4 1 h 1.6 | 7 % 8 2 h 1.5 | 2 % 16 4 h 1.3 | 0.7 % 32 6
///   h 1.2 | 0.3 % 64 8 h 1.0
struct LoadOptions {
  std::int32_t jobs = 1000;
  double load = 0.7;  ///< GPU-seconds asked for a second, as a share of `cluster_gpus`
  std::int64_t cluster_gpus = 512;
  std::int32_t users = 20;
  std::int32_t queues = 4;
};
[[nodiscard]] Result<Trace> generate_load(const LoadOptions& load, const TraceOptions& options);

/// Planned jobs at even distances over the trace.
struct PlannedOptions {
  std::int32_t count = 0;
  std::int32_t nodes = 16;
  std::int32_t columns = 4;  ///< stages; must divide nodes
  double alpha = 0.3;
  Time notice = 4 * 3600;  ///< between announcement and arrival
  Time duration = 24 * 3600;
};
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Trace> with_planned_jobs(Trace trace, const PlannedOptions& planned,
                                              const TraceOptions& options);

/// Each host fails on average every `mean_hours` of being up and is away for `repair_hours`, until `end`.
[[nodiscard]] std::vector<Outage> draw_outages(const Cluster& cluster, Time end, double mean_hours,
                                               double repair_hours, std::uint64_t seed);

}  // namespace rudder::sched
