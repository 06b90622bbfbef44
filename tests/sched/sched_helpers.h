// SPDX-License-Identifier: Apache-2.0
// Small clusters and stories of jobs in minutes.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/check.h"
#include "rudder/sched/simulator.h"

namespace rudder::sched::testing_support {

using Minutes = Time;

inline Cluster cluster_of_minipods(const std::vector<std::int32_t>& sizes, std::int32_t gpus = 8) {
  Cluster cluster;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    cluster.minipod_names.push_back(std::string(1, static_cast<char>('a' + k)));
    cluster.members.emplace_back();
    for (std::int32_t i = 0; i < sizes[k]; ++i) {
      cluster.members.back().push_back(static_cast<HostId>(cluster.names.size()));
      cluster.names.push_back(cluster.minipod_names.back() + std::to_string(i + 1));
      cluster.gpus.push_back(gpus);
      cluster.minipod.push_back(static_cast<MinipodId>(k));
    }
  }
  return cluster;
}

inline std::string numbered(const char* name, int number) {
  std::string text(name);
  text.append(std::to_string(number));
  return text;
}

/// Times in minutes.
struct StoryJob {
  std::string name;
  Minutes submit = 0;
  std::int32_t nodes = 1;
  std::int32_t gpus = 8;
  Minutes predicted = 1;
  Minutes runs = 1;
  Minutes arrival = -1;
  bool preemptible = false;
  std::int32_t priority = 0;
  TenantId tenant = 0;
  Minutes min_runtime = 0;
  Minutes checkpoint = 0;
  Minutes restart = 0;
  place::Grid grid = {};
  double alpha = 0.5;
};

struct Told {
  Cluster cluster;
  Trace trace;
  SimResult result;

  [[nodiscard]] std::size_t index(const std::string& name) const {
    const auto found = std::find_if(trace.jobs.begin(), trace.jobs.end(),
                                    [&](const TraceJob& job) { return job.spec.name == name; });
    RUDDER_CHECK(found != trace.jobs.end(), "the story has the job");
    return static_cast<std::size_t>(found - trace.jobs.begin());
  }
  [[nodiscard]] const JobRecord& record(const std::string& name) const { return result.jobs[index(name)]; }
  /// Minutes; -1 when it never started.
  [[nodiscard]] double start(const std::string& name) const {
    const Time at = record(name).first_start;
    return at < 0 ? -1 : static_cast<double>(at) / 60;
  }
  [[nodiscard]] double end(const std::string& name) const {
    const Time at = record(name).end;
    return at < 0 ? -1 : static_cast<double>(at) / 60;
  }
  [[nodiscard]] std::vector<RunRecord> runs(const std::string& name) const {
    std::vector<RunRecord> all;
    for (const RunRecord& run : result.runs) {
      if (run.job == static_cast<std::int32_t>(index(name))) {
        all.push_back(run);
      }
    }
    return all;
  }
  /// Minipods of its last stay, "ab" for two.
  [[nodiscard]] std::string minipods(const std::string& name) const {
    std::set<std::string> used;
    const std::vector<RunRecord> stays = runs(name);
    for (const HostId host : stays.back().hosts) {
      used.insert(
          cluster.minipod_names[static_cast<std::size_t>(cluster.minipod[static_cast<std::size_t>(host)])]);
    }
    std::string text;
    for (const std::string& each : used) {
      text += each;
    }
    return text;
  }
  [[nodiscard]] std::int32_t preemptions() const {
    std::int32_t sum = 0;
    for (const JobRecord& job : result.jobs) {
      sum += job.preemptions;
    }
    return sum;
  }
};

class Story {
 public:
  explicit Story(Cluster cluster) : cluster_(std::move(cluster)) {}

  void add(const StoryJob& job) {
    JobSpec spec;
    spec.name = job.name;
    spec.submit = job.submit * 60;
    spec.priority = job.priority;
    spec.tenant = job.tenant;
    spec.nodes = job.nodes;
    spec.gpus = job.gpus;
    spec.grid = job.grid;
    spec.alpha = job.alpha;
    spec.preemptible = job.preemptible;
    spec.min_runtime = job.min_runtime * 60;
    spec.checkpoint = job.checkpoint * 60;
    spec.restart = job.restart * 60;
    spec.arrival = job.arrival < 0 ? -1 : job.arrival * 60;
    trace_.jobs.push_back(
        {.spec = std::move(spec), .duration = job.runs * 60, .predicted = job.predicted * 60});
  }
  void outage(const std::string& host, Minutes from, Minutes to) {
    const auto found = std::find(cluster_.names.begin(), cluster_.names.end(), host);
    options_.outages.push_back(
        {.host = static_cast<HostId>(found - cluster_.names.begin()), .from = from * 60, .to = to * 60});
  }
  void quotas(QuotaMode mode, std::vector<std::int64_t> gpus) {
    options_.quotas = {.mode = mode, .gpus = std::move(gpus)};
  }
  void observe(std::function<void(const Snapshot&, const Plan&)> observer) {
    options_.observer = std::move(observer);
  }

  [[nodiscard]] Told tell(const PlannerOptions& planner) const {
    Told told{.cluster = cluster_, .trace = trace_, .result = {}};
    SimOptions options = options_;
    std::stable_sort(told.trace.jobs.begin(), told.trace.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.spec.submit < b.spec.submit; });
    for (std::size_t i = 0; i < told.trace.jobs.size(); ++i) {
      told.trace.jobs[i].spec.id = static_cast<JobId>(i);
      options.estimates.push_back(told.trace.jobs[i].predicted);
    }
    options.planner = planner;
    Result<SimResult> result = simulate(told.cluster, told.trace, options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    if (result) {
      told.result = std::move(result).value();
    }
    return told;
  }

 private:
  Cluster cluster_;
  Trace trace_;
  SimOptions options_;
};

}  // namespace rudder::sched::testing_support
