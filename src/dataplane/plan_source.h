// SPDX-License-Identifier: Apache-2.0
// Samples batches, shows their remote rows to the planner, and hands out plans in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/schedule.h"
#include "rudder/sample/stream.h"

#include "dataplane/remote_rows.h"

namespace rudder::dataplane {

/// A plan on its way from the planner to a batch.
struct Work {
  cache::Plan plan;
  sample::SampledBatch sampled;    ///< empty for the fill
  std::vector<LocalId> positions;  ///< of plan.rows in sampled.nodes
  /// Rows of plan.fetch. Shared with the plane, which may have to write after a failure.
  std::shared_ptr<AlignedBytes> staging;
  std::shared_ptr<Ticket> prompt;
};

/// What a feed is made from; everything outlives it.
struct FeedInputs {
  const graph::PartitionedGraph& graph;
  const graph::Part& part;
  const sample::Schedule& schedule;
  Plane& plane;
  Rank rank = 0;
};

/// For one thread, but for stop() and recycle().
class PlanSource {
 public:
  /// `horizon` as for cache::Planner; `sampling_threads` as for sample::StreamOptions. An unknown policy, or
  /// one that needs the whole trace, is an error.
  [[nodiscard]] static Result<std::unique_ptr<PlanSource>> create(const FeedInputs& inputs,
                                                                  const FeedOptions& options,
                                                                  std::uint32_t horizon,
                                                                  std::size_t sampling_threads);

  [[nodiscard]] std::uint64_t total() const noexcept { return stream_.total(); }
  /// True until the plan of the last batch has been handed out.
  [[nodiscard]] bool more() const noexcept { return planned_ < total(); }
  /// The next plan, without staging memory. Requires more().
  [[nodiscard]] Result<Work> next();
  /// Thread-safe.
  void recycle(sample::SampledBatch batch) { stream_.recycle(std::move(batch)); }
  /// Makes next() return kCancelled. Thread-safe.
  void stop() { stream_.stop(); }

 private:
  struct Sampled {
    sample::SampledBatch batch;
    std::vector<LocalId> positions;
  };
  /// What policies look at while they live.
  struct Knowledge {
    std::vector<NodeId> halo;
    std::vector<float> vip;
  };

  PlanSource(const FeedInputs& inputs, const FeedOptions& options, std::size_t sampling_threads);
  [[nodiscard]] Status plan_with(const FeedInputs& inputs, const FeedOptions& options, std::uint32_t horizon);
  [[nodiscard]] Status sample_one();

  Knowledge knowledge_;
  sample::SampleStream stream_;
  RemoteSplitter splitter_;
  std::unique_ptr<cache::Planner> planner_;
  std::function<void(StepId, std::span<const NodeId>)> on_rows_;
  std::deque<Sampled> waiting_;  ///< sampled, not planned
  std::uint64_t sampled_ = 0;
  std::uint64_t planned_ = 0;
};

}  // namespace rudder::dataplane
