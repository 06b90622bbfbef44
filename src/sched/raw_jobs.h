// SPDX-License-Identifier: Apache-2.0
// Jobs as trace readers find them, and how what a trace lacks is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/sched/trace.h"

namespace rudder::sched {

inline constexpr std::size_t kMaxTraceJobs = std::size_t{1} << 24;
inline constexpr std::int64_t kMostGpus = 1 << 20;  ///< and nodes and processors, of one job

struct RawJob {
  JobSpec spec;  ///< submit in seconds since 1970 (or any epoch); nodes and gpus are set by `shape`
  Time duration = 0;
  Time predicted = 0;
  bool failed = false;
  bool has_limit = false;
  bool has_grid = false;
  std::int64_t place = 0;  ///< line or record of the source
};

/// What jobs come from, for errors: "FILE:LINE" or "FILE: record N".
struct TraceSource {
  std::string name;
  bool has_lines = true;
  [[nodiscard]] std::string at(std::int64_t place) const;
};

/// Sets nodes and GPUs a node of a job of `gpus` in all; `nodes` 0: as few as hold them. False when a node of
/// the options cannot hold its part.
[[nodiscard]] bool shape(JobSpec& spec, std::int64_t gpus, std::int64_t nodes, const TraceOptions& options);

/// Sorts, numbers, moves to time 0, draws limits, grids and who may be preempted. Errors (kInvalidData, with
/// the place): repeated names of jobs, jobs that check_job refuses, no jobs at all.
[[nodiscard]] Result<Trace> finish_trace(std::vector<RawJob> jobs, std::int64_t skipped, bool dated,
                                         const TraceOptions& options, const TraceSource& source);

[[nodiscard]] Result<Trace> read_philly(const std::filesystem::path& path, const TraceOptions& options);
[[nodiscard]] Result<Trace> read_philly_json(const std::filesystem::path& path, const TraceOptions& options);
[[nodiscard]] Result<Trace> read_sacct(const std::filesystem::path& path, const TraceOptions& options);
[[nodiscard]] Result<Trace> read_helios(const std::filesystem::path& path, const TraceOptions& options);
[[nodiscard]] Result<Trace> read_acme(const std::filesystem::path& path, const TraceOptions& options);
[[nodiscard]] Result<Trace> read_own_csv(const std::filesystem::path& path, const TraceOptions& options);

}  // namespace rudder::sched
