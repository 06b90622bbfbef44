// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/job.h"

#include <cmath>

#include <fmt/format.h>

namespace rudder::sched {
namespace {

Error bad(const JobSpec& job, const std::string& what) {
  return {Errc::kInvalidData, fmt::format("job '{}': {}", job.name, what)};
}

bool in_range(Time time) {
  return time >= 0 && time <= kMaxTime;
}

}  // namespace

Status check_job(const JobSpec& job) {
  if (job.nodes < 1 || job.nodes > (1 << 20) || job.gpus < 0 || job.gpus > 1024) {
    return bad(job, fmt::format("{} nodes with {} GPUs each", job.nodes, job.gpus));
  }
  const bool no_grid = job.grid.rows == 0 && job.grid.columns == 0;
  if (!no_grid && (job.grid.rows < 1 || job.grid.columns < 1 || job.grid.cells() != job.nodes)) {
    return bad(job,
               fmt::format("a grid of {} x {} for {} nodes", job.grid.rows, job.grid.columns, job.nodes));
  }
  if (!(job.alpha >= 0 && job.alpha <= 1)) {
    return bad(job, fmt::format("alpha {} is not in 0..1", job.alpha));
  }
  if (std::abs(job.priority) > kMaxPriority) {
    return bad(job, fmt::format("priority {} is not in -{}..{}", job.priority, kMaxPriority, kMaxPriority));
  }
  if (!in_range(job.submit)) {
    return bad(job, fmt::format("submitted at {} s", job.submit));
  }
  if (job.limit < 1 || (job.limit > kMaxTime && job.limit != kNever)) {
    return bad(job, fmt::format("a limit of {} s", job.limit));
  }
  if (!in_range(job.min_runtime) || !in_range(job.checkpoint) || !in_range(job.restart)) {
    return bad(job, fmt::format("least run time {} s, checkpoints each {} s, restart {} s", job.min_runtime,
                                job.checkpoint, job.restart));
  }
  if (job.planned() && (job.arrival < job.submit || job.arrival > kMaxTime)) {
    return bad(job, fmt::format("planned for {} s, announced at {} s", job.arrival, job.submit));
  }
  if (job.tenant < 0 || job.cpus < 0 || !(job.memory_gib >= 0)) {
    return bad(job, fmt::format("tenant {}, {} CPUs, {} GiB", job.tenant, job.cpus, job.memory_gib));
  }
  return {};
}

}  // namespace rudder::sched
