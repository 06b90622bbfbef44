// SPDX-License-Identifier: Apache-2.0
// Random loads under every policy: each plan is checked, and each schedule as a whole.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/sched/sim_metrics.h"
#include "rudder/sched/trace.h"

#include "sched/plan_checker.h"

namespace rudder::sched {
namespace {

using testing_support::PlanChecker;

struct Case {
  Cluster cluster;
  Trace trace;
  SimOptions options;
};

/// A crowded cluster of 12 hosts: priorities, preemption, planned jobs, quotas, failures, bad predictions.
Case draw(std::uint64_t seed, Policy policy) {
  CounterRng rng({seed, 0x77});
  const std::int32_t minipods = 1 + static_cast<std::int32_t>(rng.below(4));
  Case drawn{.cluster = make_cluster({.nodes = 12, .gpus = 8, .minipods = minipods}).value(),
             .trace = {},
             .options = {}};
  TraceOptions trace{.seed = seed, .limit_factor = 4, .preemptible = 0.3, .checkpoint = 600, .restart = 60};
  Trace load =
      generate_load({.jobs = 120, .load = 0.9, .cluster_gpus = 96, .users = 5, .queues = 3}, trace).value();
  for (TraceJob& job : load.jobs) {
    job.spec.priority = static_cast<std::int32_t>(rng.below(3));
    job.spec.preemptible = job.spec.preemptible || rng.below(4) == 0;
    job.spec.min_runtime = static_cast<Time>(rng.below(2) * 300);
  }
  const auto notice = static_cast<Time>(600 + rng.below(20'000));
  drawn.trace = with_planned_jobs(std::move(load),
                                  {.count = static_cast<std::int32_t>(rng.below(4)),
                                   .nodes = 4,
                                   .columns = 2,
                                   .alpha = 0.3,
                                   .notice = notice,
                                   .duration = 5'000},
                                  trace)
                    .value();
  drawn.options.planner.policy = policy;
  drawn.options.planner.grace = static_cast<Time>(rng.below(2) * 45);
  drawn.options.planner.age = static_cast<Time>(rng.below(2) * 3600);
  for (const TraceJob& job : drawn.trace.jobs) {
    const double error = std::exp2(rng.unit() * 2 - 1);
    drawn.options.estimates.push_back(
        std::clamp<Time>(static_cast<Time>(static_cast<double>(job.duration) * error), 1, job.spec.limit));
  }
  if (rng.below(2) == 0) {
    drawn.options.outages = draw_outages(drawn.cluster, 2'000'000, 40, 1, seed);
  }
  if (rng.below(3) == 0) {
    drawn.options.quotas = {.mode = rng.below(2) == 0 ? QuotaMode::kStatic : QuotaMode::kDynamic,
                            .gpus = {64, 64, 64, 96}};
  }
  return drawn;
}

class Invariants : public testing::TestWithParam<Policy> {};

TEST_P(Invariants, HoldInEveryCycle) {
  int starts = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case drawn = draw(seed, GetParam());
    PlanChecker checker(drawn.options.planner);
    const Quotas quotas = drawn.options.quotas;
    drawn.options.observer = [&](const Snapshot& snapshot, const Plan& plan) {
      checker(snapshot, plan);
      if (quotas.mode == QuotaMode::kStatic) {
        std::map<TenantId, std::int64_t> used;
        for (const RunningJob& run : snapshot.running) {
          used[run.job->tenant] += run.job->all_gpus();
        }
        for (const auto& [tenant, gpus] : used) {
          EXPECT_LE(gpus, quotas.of(tenant));
        }
      }
    };
    const auto result = simulate(drawn.cluster, drawn.trace, drawn.options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    starts += checker.starts();
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(starts, 20'000);
}

TEST_P(Invariants, EveryJobGetsItsWholeWork) {
  for (std::uint64_t seed = 101; seed <= 250; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case drawn = draw(seed, GetParam());
    const auto result = simulate(drawn.cluster, drawn.trace, drawn.options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    std::vector<Time> done(drawn.trace.jobs.size(), 0);
    std::vector<bool> saved(done.size(), false);
    for (const RunRecord& run : result->runs) {
      const JobSpec& spec = drawn.trace.jobs[static_cast<std::size_t>(run.job)].spec;
      const auto at = static_cast<std::size_t>(run.job);
      const bool last = run.how == RunEnd::kDone || run.how == RunEnd::kLimit;
      done[at] += run.end - run.start - run.lost - (last && saved[at] ? spec.restart : 0);
      saved[at] = saved[at] || run.end - run.start > run.lost;
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
      const TraceJob& job = drawn.trace.jobs[i];
      if (!result->jobs[i].rejected) {
        EXPECT_GE(result->jobs[i].end, 0) << job.spec.name;
        EXPECT_EQ(done[i], std::min(job.duration, job.spec.limit)) << job.spec.name;
      }
    }
  }
}

TEST_P(Invariants, SameInputGivesTheSameSchedule) {
  const Case drawn = draw(7, GetParam());
  const auto first = simulate(drawn.cluster, drawn.trace, drawn.options);
  const auto second = simulate(drawn.cluster, drawn.trace, drawn.options);
  ASSERT_EQ(first->runs.size(), second->runs.size());
  for (std::size_t i = 0; i < first->runs.size(); ++i) {
    EXPECT_EQ(first->runs[i].start, second->runs[i].start);
    EXPECT_EQ(first->runs[i].hosts, second->runs[i].hosts);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Invariants,
                         testing::Values(Policy::kFifo, Policy::kEasy, Policy::kReserve),
                         [](const auto& parameter) { return std::string(policy_name(parameter.param)); });

TEST(Easy, FirstOfTheQueueIsNeverDelayedByBackfill) {
  int promised = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Cluster cluster = make_cluster({.nodes = 8, .gpus = 8, .minipods = 2}).value();
    const Trace trace =
        generate_load({.jobs = 150, .load = 1.0, .cluster_gpus = 64, .users = 5, .queues = 3}, {.seed = seed})
            .value();
    SimOptions options;  // no estimates: correct ones
    options.planner.policy = Policy::kEasy;
    PlanChecker checker(options.planner);
    options.observer = [&](const Snapshot& snapshot, const Plan& plan) { checker(snapshot, plan); };
    const auto result = simulate(cluster, trace, options);
    ASSERT_TRUE(result.ok());
    for (const auto& [job, start] : checker.promises()) {
      EXPECT_LE(result->jobs[static_cast<std::size_t>(job)].first_start, start);
      ++promised;
    }
  }
  EXPECT_GT(promised, 200);
}

TEST(Fifo, StartsInOrderAndMatchesACountOfNodes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CounterRng rng({seed, 0x99});
    Trace trace;
    Time now = 0;
    for (JobId id = 0; id < 80; ++id) {
      now += static_cast<Time>(rng.below(200));
      TraceJob job;
      job.spec.id = id;
      job.spec.name = std::to_string(id);
      job.spec.submit = now;
      job.spec.nodes = 1 + static_cast<std::int32_t>(rng.below(6));
      job.spec.gpus = 8;
      job.duration = 1 + static_cast<Time>(rng.below(900));
      trace.jobs.push_back(job);
    }
    const Cluster cluster = make_cluster({.nodes = 6, .gpus = 8, .minipods = 2}).value();
    SimOptions options;
    options.planner.policy = Policy::kFifo;
    const auto result = simulate(cluster, trace, options);
    ASSERT_TRUE(result.ok());
    // Literal: each job starts as soon as its predecessor has started and enough nodes have been given back.
    std::vector<Time> free_at(6, 0);
    Time previous = 0;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      const TraceJob& job = trace.jobs[i];
      std::sort(free_at.begin(), free_at.end());
      const auto nodes = static_cast<std::size_t>(job.spec.nodes);
      const Time start = std::max({job.spec.submit, previous, free_at[nodes - 1]});
      EXPECT_EQ(result->jobs[i].first_start, start) << "job " << i;
      std::fill(free_at.begin(), free_at.begin() + job.spec.nodes, start + job.duration);
      previous = start;
    }
  }
}

}  // namespace
}  // namespace rudder::sched
