// SPDX-License-Identifier: Apache-2.0
// Checks every plan of a run against what placement.md demands of schedulers, from the snapshot alone.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/sched/planner.h"

namespace rudder::sched::testing_support {

class PlanChecker {
 public:
  explicit PlanChecker(PlannerOptions options) : options_(options) {}

  void operator()(const Snapshot& snapshot, const Plan& plan) {
    std::map<JobId, const WaitingJob*> waiting;
    for (const WaitingJob& entry : snapshot.waiting) {
      waiting[entry.job->id] = &entry;
    }
    check_books(snapshot);
    check_zones(snapshot, plan, waiting);
    check_starts(snapshot, plan, waiting);
    check_requeues(snapshot, plan, waiting);
    check_memory(snapshot, plan);
  }

  /// Least promised start of each job that was ever the head.
  [[nodiscard]] const std::map<JobId, Time>& promises() const { return promises_; }
  [[nodiscard]] int starts() const { return starts_; }

 private:
  using Waiting = std::map<JobId, const WaitingJob*>;

  /// What is not free is held by somebody who runs: waiting gangs hold nothing.
  static void check_books(const Snapshot& snapshot) {
    std::vector<std::int32_t> free = snapshot.cluster->gpus;
    for (const RunningJob& run : snapshot.running) {
      EXPECT_EQ(run.hosts.size(), static_cast<std::size_t>(run.job->nodes)) << "a gang runs whole";
      for (const HostId host : run.hosts) {
        free[static_cast<std::size_t>(host)] -= run.job->gpus;
        EXPECT_TRUE(snapshot.nodes[static_cast<std::size_t>(host)].up);
      }
    }
    for (std::size_t h = 0; h < free.size(); ++h) {
      EXPECT_EQ(free[h], snapshot.nodes[h].free);
      EXPECT_GE(free[h], 0);
    }
  }

  static bool distinct(const std::vector<HostId>& hosts) {
    return std::set<HostId>(hosts.begin(), hosts.end()).size() == hosts.size();
  }

  void check_zones(const Snapshot& snapshot, const Plan& plan, const Waiting& waiting) {
    std::vector<Zone> all(snapshot.zones.begin(), snapshot.zones.end());
    all.insert(all.end(), plan.reserves.begin(), plan.reserves.end());
    for (const Zone& zone : all) {
      const auto entry = waiting.find(zone.job);
      ASSERT_NE(entry, waiting.end()) << "zones belong to waiting jobs";
      EXPECT_EQ(zone.hosts.size(), static_cast<std::size_t>(entry->second->job->nodes))
          << "hosts, not a count";
      EXPECT_TRUE(distinct(zone.hosts));
      EXPECT_LE(zone.expires, zone.arrival + options_.grace + options_.patience) << "plans expire";
      EXPECT_GE(zone.objective, zone.bound - 1e-9);
    }
    for (const Zone& zone : snapshot.zones) {
      if (zone.kind != ZoneKind::kPlanned) {
        continue;
      }
      const auto changed = std::find_if(plan.reserves.begin(), plan.reserves.end(),
                                        [&](const Zone& other) { return other.job == zone.job; });
      if (changed == plan.reserves.end() || changed->arrival < zone.arrival) {
        continue;
      }
      for (std::size_t i = 0; i < zone.hosts.size(); ++i) {
        const bool up = snapshot.nodes[static_cast<std::size_t>(zone.hosts[i])].up;
        EXPECT_TRUE(!up || changed->hosts[i] == zone.hosts[i] || snapshot.now >= zone.arrival)
            << "a zone keeps every host that is usable";
      }
    }
  }

  void check_starts(const Snapshot& snapshot, const Plan& plan, const Waiting& waiting) {
    std::vector<std::int32_t> free;
    for (const NodeState& node : snapshot.nodes) {
      free.push_back(node.up ? node.free : 0);
    }
    std::set<JobId> seen;
    for (const Start& start : plan.starts) {
      ++starts_;
      const auto entry = waiting.find(start.job);
      ASSERT_NE(entry, waiting.end()) << "only waiting jobs start";
      EXPECT_TRUE(seen.insert(start.job).second) << "once";
      const JobSpec& job = *entry->second->job;
      EXPECT_EQ(start.hosts.size(), static_cast<std::size_t>(job.nodes)) << "whole or not at all";
      EXPECT_TRUE(distinct(start.hosts));
      EXPECT_GE(start.objective, start.bound - 1e-9);
      EXPECT_TRUE(!job.planned() || snapshot.now >= job.arrival) << "not before its arrival";
      for (const HostId host : start.hosts) {
        std::int32_t& left = free[static_cast<std::size_t>(host)];
        left -= job.gpus;
        EXPECT_GE(left, 0) << "no host is booked twice in one cycle";
      }
      check_holds(snapshot, plan, start, *entry->second);
    }
    if (plan.head) {
      const auto [found, added] = promises_.emplace(plan.head->job, plan.head->start);
      found->second = std::min(found->second, plan.head->start);
      ASSERT_NE(waiting.find(plan.head->job), waiting.end());
      EXPECT_EQ(plan.head->hosts.size(), static_cast<std::size_t>(waiting.at(plan.head->job)->job->nodes));
      EXPECT_TRUE(distinct(plan.head->hosts));
    }
  }

  void check_holds(const Snapshot& snapshot, const Plan& plan, const Start& start, const WaitingJob& entry) {
    const auto touches = [&](const std::vector<HostId>& hosts) {
      return std::any_of(start.hosts.begin(), start.hosts.end(), [&](HostId host) {
        return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
      });
    };
    const Time end = snapshot.now + entry.estimate;
    for (const Zone& zone : snapshot.zones) {
      const bool may_stay = entry.job->preemptible && zone.kind == ZoneKind::kPlanned;
      if (zone.job != start.job && !may_stay && touches(zone.hosts) && snapshot.now < zone.end) {
        EXPECT_LE(end, zone.arrival) << "leaves the zone before its job arrives";
      }
    }
    // Under dynamic shares those within their share go first, whatever the order.
    if (plan.head && snapshot.quotas->mode != QuotaMode::kDynamic) {
      const auto head =
          std::find_if(snapshot.waiting.begin(), snapshot.waiting.end(),
                       [&](const WaitingJob& other) { return other.job->id == plan.head->job; });
      if (goes_before(*head->job, *entry.job, snapshot.now, options_.age) && touches(plan.head->hosts)) {
        EXPECT_LE(end, plan.head->start) << "backfill does not delay the first of the queue";
      }
    }
  }

  void check_requeues(const Snapshot& snapshot, const Plan& plan, const Waiting& waiting) const {
    for (const Requeue& requeue : plan.requeues) {
      const auto run = std::find_if(snapshot.running.begin(), snapshot.running.end(),
                                    [&](const RunningJob& other) { return other.job->id == requeue.job; });
      ASSERT_NE(run, snapshot.running.end()) << "victims run";
      EXPECT_FALSE(run->leaving) << "told once";
      ASSERT_NE(waiting.find(requeue.in_favour), waiting.end());
      const JobSpec& winner = *waiting.at(requeue.in_favour)->job;
      EXPECT_FALSE(run->job->planned()) << "planned jobs are never victims";
      if (!winner.planned()) {
        EXPECT_LT(run->job->priority, winner.priority);
        EXPECT_TRUE(run->job->preemptible);
        EXPECT_GE(snapshot.now - run->start, run->job->min_runtime);
      }
    }
  }

  /// A planner without a past makes the same plan: nothing that a restart would lose.
  void check_memory(const Snapshot& snapshot, const Plan& plan) {
    if (++cycles_ % 7 != 0) {
      return;
    }
    Planner fresh(options_);
    const Plan again = fresh.plan(snapshot);
    ASSERT_EQ(again.starts.size(), plan.starts.size());
    for (std::size_t i = 0; i < plan.starts.size(); ++i) {
      EXPECT_EQ(again.starts[i].job, plan.starts[i].job);
      EXPECT_EQ(again.starts[i].hosts, plan.starts[i].hosts);
    }
    EXPECT_EQ(again.requeues.size(), plan.requeues.size());
    EXPECT_EQ(again.reserves.size(), plan.reserves.size());
  }

  PlannerOptions options_;
  std::map<JobId, Time> promises_;
  int starts_ = 0;
  int cycles_ = 0;
};

}  // namespace rudder::sched::testing_support
