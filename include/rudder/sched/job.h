// SPDX-License-Identifier: Apache-2.0
// A job as its user describes it. How long it really takes is not in here: planners never see that.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "rudder/place/placement.h"

namespace rudder::sched {

using Time = std::int64_t;   ///< seconds since an epoch of the engine's choice
using JobId = std::int64_t;  ///< unique in one engine; breaks ties
using TenantId = std::int32_t;

/// Later than every event; sums of two stay in range.
inline constexpr Time kNever = std::numeric_limits<Time>::max() / 4;
/// Times of inputs are at most this far from the epoch (about 3,000 years), so that sums never overflow.
inline constexpr Time kMaxTime = Time{100'000'000'000};
/// Planned jobs are a class of their own above every priority that a user may give or gain by waiting.
inline constexpr std::int32_t kPlannedClass = 1'000'000;
inline constexpr std::int32_t kMaxPriority = 100'000;

/// A gang: all nodes start together or none does.
struct JobSpec {
  JobId id = 0;
  std::string name;  ///< as the trace or the cluster calls it
  std::string user;
  std::string queue;  ///< virtual cluster, partition or department
  TenantId tenant = 0;
  Time submit = 0;
  std::int32_t priority = 0;  ///< |priority| <= kMaxPriority; larger goes first
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;  ///< on each node
  place::Grid grid;       ///< rows x columns = nodes, or 0 x 0: any nodes near to each other
  double alpha = 0.5;     ///< weight of the grid's columns, see place/placement.h
  bool preemptible = false;
  Time limit = kNever;    ///< the user's limit: the engine ends the job then
  Time min_runtime = 0;   ///< not a victim of priorities before it ran that long
  Time checkpoint = 0;    ///< seconds between checkpoints; 0: a requeued job starts anew
  Time restart = 0;       ///< seconds lost by starting from a checkpoint
  Time arrival = -1;      ///< planned jobs: announced at `submit`, to start at this time; -1: not planned
  std::int32_t cpus = 0;  ///< of the whole job; 0: unknown
  double memory_gib = 0;  ///< of the whole job; 0: unknown
  std::string gpu_type;

  [[nodiscard]] bool planned() const noexcept { return arrival >= 0; }
  [[nodiscard]] std::int64_t all_gpus() const noexcept { return std::int64_t{nodes} * gpus; }
};

/// Nothing is negative, the grid matches the nodes, times and priority are in range. Errors name the job and
/// the value (kInvalidData).
[[nodiscard]] Status check_job(const JobSpec& job);

}  // namespace rudder::sched
