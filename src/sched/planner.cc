// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/planner.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "sched/cycle.h"

namespace rudder::sched {
namespace {

constexpr std::array<std::pair<Policy, std::string_view>, 3> kPolicies = {{
    {Policy::kFifo, "fifo"},
    {Policy::kEasy, "easy"},
    {Policy::kReserve, "reserve"},
}};

constexpr int kMaxRounds = 16;

}  // namespace

std::string_view policy_name(Policy policy) noexcept {
  return kPolicies[static_cast<std::size_t>(policy)].second;
}

Result<Policy> parse_policy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [policy, text] : kPolicies) {
    if (text == name) {
      return policy;
    }
    names.push_back(text);
  }
  const std::string near = nearest_name(name, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("policy '{}' is not fifo, easy or reserve{}", name,
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

std::string_view delay_name(Delay delay) noexcept {
  switch (delay) {
    case Delay::kNotArrived:
      return "planned for later";
    case Delay::kQuota:
      return "its tenant's share is used up";
    case Delay::kCapacity:
      return "too few free GPUs";
    case Delay::kHeld:
      return "no hosts that it would leave in time for those who go first";
    case Delay::kVictims:
      return "waits for jobs that are leaving its hosts";
    case Delay::kOrder:
      return "waits behind the first of the queue";
    case Delay::kDepth:
      return "beyond the depth of the queue that is looked at";
  }
  return "unknown";
}

double effective_priority(const JobSpec& job, Time now, Time age) noexcept {
  if (job.planned()) {
    return static_cast<double>(kPlannedClass) + job.priority + kMaxPriority;
  }
  const auto waited = static_cast<double>(std::max<Time>(0, now - job.submit));
  const double gained = age > 0 ? waited / static_cast<double>(age) : 0.0;
  return std::min(static_cast<double>(job.priority) + gained, static_cast<double>(kPlannedClass) - 1.0);
}

bool goes_before(const JobSpec& a, const JobSpec& b, Time now, Time age) noexcept {
  return std::tuple(-effective_priority(a, now, age), a.submit, a.id) <
         std::tuple(-effective_priority(b, now, age), b.submit, b.id);
}

Time expected_end(const RunningJob& run, Time now) noexcept {
  if (run.leaving) {
    return now + 1;
  }
  for (const Time length : {run.estimate, run.job->limit}) {
    if (run.start + length > now) {
      return run.start + length;
    }
  }
  return now + 60;
}

std::int64_t Quotas::of(TenantId tenant) const noexcept {
  const auto at = static_cast<std::size_t>(tenant);
  return at < gpus.size() ? gpus[at] : 0;
}

struct Planner::State {
  GangPlacer placer;
};

Planner::Planner(PlannerOptions options) : options_(options), state_(std::make_unique<State>()) {}
Planner::~Planner() = default;

Plan Planner::plan(const Snapshot& snapshot) {
  return Cycle(snapshot, options_, state_->placer).run();
}

Status run_cycle(Engine& engine, Planner& planner) {
  for (int round = 0; round < kMaxRounds; ++round) {
    RUDDER_ASSIGN(const Snapshot snapshot, engine.snapshot());
    const Plan plan = planner.plan(snapshot);
    RUDDER_TRY(engine.apply(plan));
    // Starts leave less for others; everything else may let somebody start now.
    if (plan.requeues.empty() && plan.reserves.empty() && plan.releases.empty()) {
      break;
    }
  }
  return {};
}

}  // namespace rudder::sched
