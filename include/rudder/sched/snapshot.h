// SPDX-License-Identifier: Apache-2.0
// What a planner sees and what it asks for. An engine (a simulated cluster, a real Slurm) makes the first and
// carries out the second; the planner between them knows neither clock nor cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sched/cluster.h"
#include "rudder/sched/job.h"

namespace rudder::sched {

struct NodeState {
  std::int32_t free = 0;  ///< GPUs that no job holds
  bool up = true;
};

struct WaitingJob {
  const JobSpec* job = nullptr;
  Time estimate = 0;  ///< quantile of its run time, never above the user's limit
};

struct RunningJob {
  const JobSpec* job = nullptr;
  Time start = 0;
  Time estimate = 0;          ///< run time that was predicted when it started
  Time safe = 0;              ///< its last checkpoint, or its start: work since then is lost by a requeue
  std::vector<HostId> hosts;  ///< in rank order
  bool leaving = false;       ///< told to stop; gone when its grace ends
};

/// When the job is expected to be gone: its prediction, after that its limit, after that a minute from now.
[[nodiscard]] Time expected_end(const RunningJob& run, Time now) noexcept;

enum class ZoneKind : std::uint8_t {
  kPlanned,  ///< of a planned job, made when it was announced
  kClaim,    ///< of a gang whose victims are leaving
  kOutside,  ///< held by the cluster for somebody whom the planner does not know; never changed by it
};

/// Hosts that a waiting gang will have at `arrival`. The only way in which a waiting job holds anything, and
/// it expires.
struct Zone {
  JobId job = 0;
  ZoneKind kind = ZoneKind::kPlanned;
  Time arrival = 0;           ///< of a planned job: its own, or the earliest later time with enough hosts
  Time end = 0;               ///< arrival and the job's estimate
  Time expires = 0;           ///< dropped when its job has not started by then
  std::vector<HostId> hosts;  ///< in rank order: row-major cells of the job's grid
  double objective = 0;       ///< J of these hosts
  double bound = 0;           ///< no placement on the hosts usable at the arrival has a lower J
};

/// The first delayed job's hosts and the time when they are expected to be free (EASY backfill's shadow).
struct HeadPlan {
  JobId job = 0;
  Time start = 0;
  std::vector<HostId> hosts;
};

enum class QuotaMode : std::uint8_t {
  kNone,
  kStatic,   ///< a tenant never holds more than its share
  kDynamic,  ///< more than its share only while no other tenant's job waits within that tenant's share
};

struct Quotas {
  QuotaMode mode = QuotaMode::kNone;
  std::vector<std::int64_t> gpus;  ///< of each tenant; tenants beyond the end have no share of their own
  [[nodiscard]] std::int64_t of(TenantId tenant) const noexcept;
};

/// A cluster at one moment. Spans and pointers are the engine's and stay valid while a plan is made.
struct Snapshot {
  Time now = 0;
  const Cluster* cluster = nullptr;
  std::span<const NodeState> nodes;
  std::span<const WaitingJob> waiting;
  bool sorted = false;  ///< `waiting` is in the order of `goes_before` already
  std::span<const RunningJob> running;
  std::span<const Zone> zones;
  const HeadPlan* head = nullptr;  ///< of the last cycle, if there was one
  const Quotas* quotas = nullptr;
};

struct Start {
  JobId job = 0;
  std::vector<HostId> hosts;  ///< in rank order: row-major cells of the job's grid
  double objective = 0;       ///< J; minipods used for a job without a grid
  double bound = 0;           ///< least J on the hosts that were free to it
  bool in_zone = false;       ///< on hosts of somebody else's planned zone
};

struct Requeue {
  JobId job = 0;  ///< the whole gang leaves: SIGTERM, grace, then it waits again
  JobId in_favour = 0;
};

enum class Delay : std::uint8_t {
  kNotArrived,  ///< planned for later
  kQuota,       ///< its tenant's share is used up
  kCapacity,    ///< too few hosts with enough free GPUs
  kHeld,        ///< hosts are free but held for somebody whom it would delay
  kVictims,     ///< has its hosts; those who are on them are leaving
  kOrder,       ///< FIFO: somebody before it waits
  kDepth,       ///< not looked at in this cycle
};
[[nodiscard]] std::string_view delay_name(Delay delay) noexcept;

struct Delayed {
  JobId job = 0;
  Delay reason = Delay::kCapacity;
};

/// To be carried out in this order: releases, reserves, requeues, starts.
struct Plan {
  std::vector<JobId> releases;  ///< whose zone is dropped
  std::vector<Zone> reserves;   ///< new, or instead of the same job's zone
  std::vector<Requeue> requeues;
  std::vector<Start> starts;
  std::optional<HeadPlan> head;
  std::vector<Delayed> delayed;  ///< only when asked for

  [[nodiscard]] bool empty() const noexcept {
    return releases.empty() && reserves.empty() && requeues.empty() && starts.empty();
  }
};

/// A cluster that plans are carried out on.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  /// The present state, complete: a planner keeps nothing between two calls.
  [[nodiscard]] virtual Result<Snapshot> snapshot() = 0;
  [[nodiscard]] virtual Status apply(const Plan& plan) = 0;
};

}  // namespace rudder::sched
