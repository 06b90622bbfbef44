// SPDX-License-Identifier: Apache-2.0
// The scheduling policies: one cycle as a function of a snapshot.
//
// A cycle, in this order: zones whose time has come are emptied and their jobs started; newly announced
// planned jobs get a zone; waiting jobs by (priority and age, submission, id) start where they fit outside
// all zones, or inside when they are expected to be gone before the zone's job arrives, or (preemptible ones)
// anyway; or they preempt; or they are delayed. The first delayed job gets the earliest time at which its
// hosts are expected to be free, and nobody after it may touch those hosts beyond that time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/sched/snapshot.h"

namespace rudder::sched {

enum class Policy : std::uint8_t {
  kFifo,     ///< strict order: who does not fit stops everybody behind
  kEasy,     ///< backfill behind one reservation for the first delayed job
  kReserve,  ///< EASY, zones for planned jobs, preemption by priority
};
[[nodiscard]] std::string_view policy_name(Policy policy) noexcept;
/// Errors: kInvalidArgument with a near-miss hint.
[[nodiscard]] Result<Policy> parse_policy(std::string_view name);

struct PlannerOptions {
  Policy policy = Policy::kReserve;
  bool preemption = true;    ///< reserve: jobs of higher priority may requeue preemptible ones of lower
  Time age = 24 * 3600;      ///< waiting that long is worth one step of priority; 0: no ageing
  Time grace = 0;            ///< seconds between the signal and the end of a requeued job
  Time patience = 600;       ///< a zone whose job could not start that long after its arrival expires
  std::int32_t depth = 500;  ///< delayed jobs looked at in one cycle; 0: all
  bool reasons = false;      ///< fill Plan::delayed
};

/// Priority with age, the first key of the order.
[[nodiscard]] double effective_priority(const JobSpec& job, Time now, Time age) noexcept;

/// The queue's order: effective priority, submission, id.
[[nodiscard]] bool goes_before(const JobSpec& a, const JobSpec& b, Time now, Time age) noexcept;

class Planner {
 public:
  explicit Planner(PlannerOptions options);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  ~Planner();

  /// Depends on its argument alone; what is kept between calls (solved placements, buffers) only saves time.
  /// Time: O(nodes + running log running + looked-at jobs x nodes), one placement a started gang, and the
  /// sort of the queue when it is not sorted.
  [[nodiscard]] Plan plan(const Snapshot& snapshot);
  [[nodiscard]] const PlannerOptions& options() const noexcept { return options_; }

 private:
  struct State;
  PlannerOptions options_;
  std::unique_ptr<State> state_;
};

/// Snapshot, plan, apply; again while a plan made room that others may use at once (at most 16 times).
[[nodiscard]] Status run_cycle(Engine& engine, Planner& planner);

/// Why a waiting job waits, a line a minipod: hosts free, busy (and until when), held for whom, down. Empty
/// when the job is not waiting.
[[nodiscard]] std::vector<std::string> explain(const Snapshot& snapshot, JobId job);

}  // namespace rudder::sched
