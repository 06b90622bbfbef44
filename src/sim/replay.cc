// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/replay.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/score_settings.h"
#include "rudder/core/machine.h"
#include "rudder/core/rng.h"

namespace rudder::sim {
namespace {

using cache::BufferSize;
using cache::Counts;
using cache::Planner;
using cache::PolicyContext;
using cache::PolicyInfo;
using cache::PolicySettings;
using cache::Trace;

double ratio(std::uint64_t part, std::uint64_t whole) {
  if (part == whole) {
    return 1.0;
  }
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

Status check_trace(const Trace& trace) {
  const cache::TraceHeader& header = trace.header;
  const std::size_t nodes = static_cast<std::size_t>(header.nodes);
  if (header.part_offsets.size() < 2 || trace.ranks.size() != header.ranks() ||
      header.halo.size() != header.ranks()) {
    return Error{Errc::kInvalidData,
                 fmt::format("trace: batches of {} ranks and {} halos for a book of {} entries",
                             trace.ranks.size(), header.halo.size(), header.part_offsets.size())};
  }
  if (header.indptr.size() != nodes + 1) {
    return Error{Errc::kInvalidData,
                 fmt::format("trace: {} degrees for {} nodes; record it anew",
                             header.indptr.empty() ? 0 : header.indptr.size() - 1, nodes)};
  }
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const Trace::RankBatches& batches = trace.ranks[rank];
    if (batches.offsets.size() != header.steps() + 1 || batches.offsets.back() != batches.rows.size()) {
      return Error{Errc::kInvalidData, fmt::format("trace: rank {} has {} batches of {}", rank,
                                                   batches.offsets.size() - 1, header.steps())};
    }
  }
  return {};
}

Status check_policy(const Trace& trace, const PolicyInfo& policy) {
  const auto has_vip = [&](Rank rank) {
    return rank < trace.header.vip.size() &&
           trace.header.vip[rank].size() == static_cast<std::size_t>(trace.header.nodes);
  };
  for (Rank rank = 0; policy.needs_vip && rank < trace.header.ranks(); ++rank) {
    if (!has_vip(rank)) {
      return Error{
          Errc::kInvalidData,
          fmt::format("policy {}: the trace holds no inclusion probabilities of rank {}", policy.name, rank)};
    }
  }
  return {};
}

Counts replay_rank(const Trace& trace, const PolicyInfo& policy, const PolicySettings& settings, SlotId slots,
                   Rank rank) {
  const cache::TraceHeader& header = trace.header;
  PolicyContext context;
  context.capacity = slots;
  context.steps = header.steps();
  context.steps_per_epoch = header.steps_per_epoch;
  context.owned_begin = header.part_offsets[rank];
  context.seed = cache::policy_seed(header.seed, context.owned_begin);
  context.owned_end = header.part_offsets[rank + 1];
  context.halo = header.halo[rank];
  context.indptr = header.indptr;
  if (policy.needs_vip) {
    context.vip = header.vip[rank];
  }
  Planner planner(policy.make(context, settings), slots, 0);
  StepId pushed = 0;
  while (!planner.done()) {
    if (!planner.wants_input()) {
      static_cast<void>(planner.next());
    } else if (pushed < header.steps()) {
      const std::span<const NodeId> rows = trace.ranks[rank].batch(pushed++);
      planner.push({rows.begin(), rows.end()});
    } else {
      planner.finish();
    }
  }
  return planner.totals();
}

/// A row under work: ranks finish in any order.
struct Job {
  const PolicyInfo* policy = nullptr;
  const BufferSize* buffer = nullptr;
  ReplayRow row;
  std::size_t ranks_left = 0;
};

Job make_job(const Trace& trace, const PolicyInfo& policy, const BufferSize& buffer) {
  Job job;
  job.policy = &policy;
  job.buffer = &buffer;
  job.row.policy = policy.name;
  job.row.buffer = buffer.text;
  job.row.by_rank.resize(trace.header.ranks());
  job.ranks_left = trace.header.ranks();
  for (const std::vector<NodeId>& halo : trace.header.halo) {
    job.row.slots += buffer.slots(halo.size());
  }
  return job;
}

/// Works through (job, rank) pairs with several threads.
class Workers {
 public:
  Workers(const Trace& trace, const PolicySettings& settings, std::vector<Job>& jobs,
          std::function<void(const Job&)> done)
      : trace_(trace), settings_(settings), jobs_(jobs), done_(std::move(done)) {}

  Status run(std::size_t threads) {
    std::vector<std::jthread> helpers;
    const std::size_t tasks = jobs_.size() * trace_.header.ranks();
    for (std::size_t i = 1; i < std::min(threads, tasks); ++i) {
      try {
        helpers.emplace_back([this] {
          name_this_thread("rudder-replay");
          work();
        });
      } catch (const std::system_error&) {
        break;  // fewer threads do the same work
      }
    }
    work();
    helpers.clear();
    return std::move(status_);
  }

 private:
  void work() noexcept {
    const std::size_t ranks = trace_.header.ranks();
    // relaxed: the counters only hand out tasks; results are published by the mutex and by joining.
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::size_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= jobs_.size() * ranks) {
        return;
      }
      try {
        finish(jobs_[task / ranks], static_cast<Rank>(task % ranks));
      } catch (const std::exception& error) {
        stop_.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        status_ = Error{Errc::kResource,
                        fmt::format("replay of {}: {}", jobs_[task / ranks].policy->name, error.what())};
      }
    }
  }

  void finish(Job& job, Rank rank) {
    const SlotId slots = job.buffer->slots(trace_.header.halo[rank].size());
    const Counts counts = replay_rank(trace_, *job.policy, settings_, slots, rank);
    const std::lock_guard lock(mutex_);
    job.row.by_rank[rank] = counts;
    job.row.counts += counts;
    if (--job.ranks_left == 0) {
      done_(job);
    }
  }

  const Trace& trace_;
  const PolicySettings& settings_;
  std::vector<Job>& jobs_;
  std::function<void(const Job&)> done_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  Status status_;
};

}  // namespace

double ReplayRow::ratio_to_none() const {
  return ratio(counts.fetched, counts.requests);
}

std::optional<double> ReplayRow::ratio_to_min() const {
  return min_fetched ? std::optional(ratio(counts.fetched, *min_fetched)) : std::nullopt;
}

Result<ReplayRow> replay(const Trace& trace, const PolicyInfo& policy, const PolicySettings& settings,
                         const BufferSize& buffer) {
  RUDDER_TRY(check_trace(trace));
  RUDDER_TRY(check_score_settings(settings));
  RUDDER_TRY(check_policy(trace, policy));
  std::vector<Job> jobs;
  jobs.push_back(make_job(trace, policy, buffer));
  RUDDER_TRY(Workers(trace, settings, jobs, [](const Job&) {}).run(1));
  return std::move(jobs[0].row);
}

Result<std::vector<ReplayRow>> replay_all(const Trace& trace, const std::vector<const PolicyInfo*>& policies,
                                          const PolicySettings& settings,
                                          const std::vector<BufferSize>& buffers, std::size_t threads,
                                          const std::function<void(const ReplayRow&)>& done) {
  RUDDER_TRY(check_trace(trace));
  RUDDER_TRY(check_score_settings(settings));
  for (const PolicyInfo* policy : policies) {
    RUDDER_TRY(check_policy(trace, *policy));
  }
  RUDDER_ASSIGN(const PolicyInfo* min, cache::find_policy("min"));
  std::vector<const PolicyInfo*> all = policies;
  const auto found = std::find(all.begin(), all.end(), min);
  const auto min_at = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    all.push_back(min);
  }
  std::vector<Job> jobs;
  for (const BufferSize& buffer : buffers) {
    for (const PolicyInfo* policy : all) {
      jobs.push_back(make_job(trace, *policy, buffer));
    }
  }
  const auto is_asked = [&](const Job& job) {
    return static_cast<std::size_t>(&job - jobs.data()) % all.size() < policies.size();
  };
  RUDDER_TRY(Workers(trace, settings, jobs, [&](const Job& job) {
               if (done && is_asked(job)) {
                 done(job.row);
               }
             }).run(threads));
  std::vector<ReplayRow> rows;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (is_asked(jobs[i])) {
      jobs[i].row.min_fetched = jobs[i - i % all.size() + min_at].row.counts.fetched;
      rows.push_back(std::move(jobs[i].row));
    }
  }
  return rows;
}

}  // namespace rudder::sim
