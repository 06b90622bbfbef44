// SPDX-License-Identifier: Apache-2.0
// The look-ahead pipeline: sample, plan, fetch and gather later batches while the current one trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/schedule.h"

namespace rudder::dataplane {

/// One batch, ready to train on.
struct Batch {
  StepId step = 0;
  sample::SampledBatch sampled;
  AlignedBytes rows;  ///< sampled.nodes.size() rows in that order, in the graph's dtype; may be longer
  std::vector<std::int64_t> labels;  ///< of the seeds
  cache::Counts counts;              ///< remote rows of this batch (the initial fill is counted with step 0)
  Transfer transfer;                 ///< what was moved for it
};

/// Where a trainer gets its batches from; the shared service's client will be another one.
class BatchSource {
 public:
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;
  virtual ~BatchSource() = default;

  /// Batches from the first step to the end of the run.
  [[nodiscard]] virtual std::uint64_t total() const = 0;
  /// The next batch, in order; at most total() calls. Errors name who was waited for, and come back from
  /// every later call.
  [[nodiscard]] virtual Result<Batch> next() = 0;
  /// Gives a batch's memory back for reuse. Optional; any thread.
  virtual void recycle(Batch batch) = 0;
};

struct FeedOptions {
  std::string policy = "lookahead";
  cache::PolicySettings settings;
  SlotId slots = 0;  ///< buffer size in rows
  std::vector<int> fanout = {10, 25};
  std::uint32_t epochs = 1;
  std::uint64_t first_step = 0;  ///< of the run: where a resumed one goes on, with an empty buffer
  std::size_t batch = 512;       ///< seeds a step of this rank, for VIP
  std::size_t threads = 1;       ///< sampling threads
  std::uint32_t depth = 4;       ///< batches asked for, fetched or gathered ahead of the one in training
  /// Hears the distinct remote rows of each batch, ascending, batches in order, from one of the feed's
  /// threads before the batch is delivered. May be empty.
  std::function<void(StepId, std::span<const NodeId>)> on_rows = nullptr;
};

/// Embedded form. Owns its threads (samplers, planner, gatherer), joins them on destruction at any moment.
/// With policy `none`, or depth 0, everything happens inside next(), one after another. The rows of `part`
/// must be published as table 0 by every rank, before or soon after. graph, part, schedule and plane must
/// outlive the feed.
///
/// Memory beside the batches: slots rows of buffer, the misses of depth + 1 batches, and the sampled batches
/// that the policy looks ahead.
[[nodiscard]] Result<std::unique_ptr<BatchSource>> make_embedded_feed(const graph::PartitionedGraph& graph,
                                                                      const graph::Part& part,
                                                                      const sample::Schedule& schedule,
                                                                      Plane& plane, Rank rank,
                                                                      const FeedOptions& options);

}  // namespace rudder::dataplane
