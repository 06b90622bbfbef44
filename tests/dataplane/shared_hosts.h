// SPDX-License-Identifier: Apache-2.0
// Hosts whose trainers share a buffer, all in one process, and what must come out, made without a data plane.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/dataplane/feed.h"
#include "rudder/graph/partition.h"
#include "rudder/graph/vip.h"
#include "rudder/metrics/registry.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/schedule.h"

#include "dataplane/cluster.h"
#include "dataplane/host_buffer.h"
#include "dataplane/row_memory.h"

namespace rudder::dataplane::testing_support {

inline constexpr std::size_t kSharedBatch = 10;

class Hosts {
 public:
  /// `shape.parts` trainers, `each` a host. `figures`: of all hosts.
  Hosts(const GraphShape& shape, PartId each, metrics::Registry* figures = nullptr)
      : graph_(shape),
        each_(each),
        schedule_(sample::Schedule::create(11, kSharedBatch, graph_.train()).value()),
        cluster_(graph_, planes(each, figures)) {
    for (PartId p = 0; p < shape.parts; ++p) {
      parts_.push_back(graph_.graph().open_part(p).value());
    }
  }

  [[nodiscard]] const TestGraph& graph() const { return graph_; }
  [[nodiscard]] const sample::Schedule& schedule() const { return schedule_; }
  [[nodiscard]] PartId each() const { return each_; }
  [[nodiscard]] Rank hosts() const { return graph_.graph().book().parts() / each_; }
  [[nodiscard]] Plane& plane(Rank host) { return cluster_[host]; }
  [[nodiscard]] std::span<const graph::Part> parts_of(Rank host) const {
    return std::span(parts_).subspan(host * each_, each_);
  }
  static FeedOptions feeding() {
    FeedOptions options;
    options.fanout = {3, 4};
    options.epochs = 2;
    options.batch = kSharedBatch;
    return options;
  }
  [[nodiscard]] RunShape run_shape() const {
    return {.steps = std::uint64_t{feeding().epochs} * schedule_.steps_per_epoch(),
            .steps_per_epoch = schedule_.steps_per_epoch(),
            .seed = schedule_.seed(),
            .batch = kSharedBatch,
            .fanout = feeding().fanout};
  }

  std::unique_ptr<HostBuffer> buffer(Rank host, const BufferOptions& options, std::uint64_t steps,
                                     const std::function<std::unique_ptr<RowMemory>()>& memory) {
    RunShape run = run_shape();
    run.steps = steps;
    std::vector<PartId> parts;
    for (const graph::Part& part : parts_of(host)) {
      parts.push_back(part.id());
    }
    auto made = HostBuffer::create(graph_.graph(), parts, plane(host), run, options, memory());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }

  /// Runs one rank to the end over this supply, checking every row; its counts.
  cache::Counts run_rank(Rank rank, std::unique_ptr<RowSupply> supply) {
    const FeedInputs inputs{graph_.graph(), parts_of(rank / each_), schedule_, rank};
    auto feed = make_feed(inputs, std::move(supply), feeding(), from_seconds(10));
    EXPECT_TRUE(feed.ok()) << feed.error().message;
    cache::Counts total;
    for (std::uint64_t step = 0; step < feed.value()->total(); ++step) {
      auto batch = feed.value()->next();
      if (!batch.ok()) {
        ADD_FAILURE() << "rank " << rank << ", batch " << step << ": " << batch.error().message;
        return total;
      }
      total += batch.value().counts;
      const auto& nodes = batch.value().sampled.nodes;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!graph_.row_is_right(nodes[i], batch.value().rows.data() + i * graph_.row_bytes())) {
          ADD_FAILURE() << "rank " << rank << ", batch " << step << ", row " << i;
          return total;
        }
      }
      feed.value()->recycle(std::move(batch).value());
    }
    return total;
  }

  /// All ranks of all hosts; the hosts' counts.
  std::vector<cache::Counts> run(const BufferOptions& options,
                                 const std::function<std::unique_ptr<RowMemory>()>& memory) {
    std::vector<std::unique_ptr<HostBuffer>> buffers;
    for (Rank host = 0; host < hosts(); ++host) {
      buffers.push_back(buffer(host, options, run_shape().steps, memory));
    }
    std::vector<cache::Counts> by_rank(graph_.graph().book().parts());
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < by_rank.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { by_rank[rank] = run_rank(rank, buffers[rank / each_]->supply(rank % each_)); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    std::vector<cache::Counts> by_host(hosts());
    for (Rank rank = 0; rank < by_rank.size(); ++rank) {
      by_host[rank / each_] += by_rank[rank];
    }
    return by_host;
  }

 private:
  static PlaneOptions planes(PartId each, metrics::Registry* figures) {
    PlaneOptions options;
    options.parts_each = each;
    options.figures = figures;
    return options;
  }

  TestGraph graph_;
  PartId each_;
  sample::Schedule schedule_;
  Cluster cluster_;
  std::vector<graph::Part> parts_;
};

/// The remote rows of each step of the parts [first, last], merged.
inline std::vector<std::vector<NodeId>> merged_rows(const Hosts& hosts, PartId first, PartId last) {
  const auto& graph = hosts.graph().graph();
  sample::NeighborSampler sampler(graph.topology(), Hosts::feeding().fanout, hosts.schedule().seed());
  std::vector<std::vector<NodeId>> out;
  for (std::uint32_t epoch = 0; epoch < Hosts::feeding().epochs; ++epoch) {
    for (std::uint32_t b = 0; b < hosts.schedule().steps_per_epoch(); ++b) {
      std::set<NodeId> rows;
      for (Rank rank = first; rank <= last; ++rank) {
        const sample::BatchKey key{epoch, b, rank};
        sample::SampledBatch batch;
        sampler.sample(hosts.schedule().seeds(key), key, hosts.schedule().global_batch(key), batch);
        for (const NodeId v : batch.nodes) {
          if (v < graph.book().begin(first) || v >= graph.book().end(last)) {
            rows.insert(v);
          }
        }
      }
      out.emplace_back(rows.begin(), rows.end());
    }
  }
  return out;
}

/// What a buffer shared by the parts [first, last] must count.
inline cache::Counts planned_counts(const Hosts& hosts, PartId first, PartId last,
                                    const BufferOptions& options) {
  const auto& graph = hosts.graph().graph();
  std::set<NodeId> halo;
  std::vector<double> absent(static_cast<std::size_t>(graph.book().nodes()), 1.0);
  for (PartId part = first; part <= last; ++part) {
    for (const NodeId v : graph::halo_of(graph.slice(part), graph.meta().nodes)) {
      if (v < graph.book().begin(first) || v >= graph.book().end(last)) {
        halo.insert(v);
      }
    }
    const auto vip = graph::inclusion_probability(graph.topology(), graph.train(part), kSharedBatch,
                                                  Hosts::feeding().fanout);
    for (std::size_t v = 0; v < vip.size(); ++v) {
      absent[v] *= 1.0 - static_cast<double>(vip[v]);
    }
  }
  std::vector<float> vip;
  for (const double p : absent) {
    vip.push_back(static_cast<float>(1.0 - p));
  }
  const std::vector<NodeId> sorted_halo(halo.begin(), halo.end());
  const auto batches = merged_rows(hosts, first, last);
  cache::PolicyContext context;
  context.capacity = options.slots;
  context.steps = batches.size();
  context.steps_per_epoch = hosts.schedule().steps_per_epoch();
  context.seed = cache::policy_seed(hosts.schedule().seed(), graph.book().begin(first));
  context.owned_begin = graph.book().begin(first);
  context.owned_end = graph.book().end(last);
  context.halo = sorted_halo;
  context.indptr = graph.topology().indptr;
  const auto* info = cache::find_policy(options.policy).value();
  if (info->needs_vip) {
    context.vip = vip;
  }
  cache::Planner planner(info->make(context, options.settings), options.slots, 0);
  for (const auto& rows : batches) {
    planner.push(rows);
  }
  planner.finish();
  while (!planner.done()) {
    static_cast<void>(planner.next());
  }
  return planner.totals();
}

inline cache::Counts merged_counts(const Hosts& hosts, Rank host, const BufferOptions& options) {
  return planned_counts(hosts, host * hosts.each(), (host + 1) * hosts.each() - 1, options);
}

inline cache::Counts lone_counts(const Hosts& hosts, Rank rank, const BufferOptions& options) {
  return planned_counts(hosts, rank, rank, options);
}

}  // namespace rudder::dataplane::testing_support
