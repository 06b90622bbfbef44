// SPDX-License-Identifier: Apache-2.0
// The look-ahead pipeline: sample, plan, fetch and gather later batches while the current one trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/schedule.h"

namespace rudder::dataplane {

/// One batch, ready to train on.
struct Batch {
  StepId step = 0;
  sample::SampledBatch sampled;
  AlignedBytes rows;  ///< sampled.nodes.size() rows in that order, in the graph's dtype; may be longer
  std::vector<std::int64_t> labels;  ///< of the seeds; empty in a multi-label graph
  cache::Counts counts;              ///< remote rows of this batch (the initial fill is counted with step 0)
  Transfer transfer;                 ///< what was moved for it
};

/// Where a trainer gets its batches from.
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
  /// Batches gathered that next() would give at once. Any thread; waits for nothing.
  [[nodiscard]] virtual std::uint32_t ready() const noexcept { return 0; }
  /// Gives a batch's memory back for reuse. Optional; any thread.
  virtual void recycle(Batch batch) = 0;
};

struct FeedOptions {
  std::vector<int> fanout = {10, 25};
  std::uint32_t epochs = 1;
  std::uint64_t first_step = 0;  ///< of the run: where a resumed one goes on, with an empty buffer
  std::size_t batch = 512;       ///< seeds a step of this rank, for VIP
  std::size_t threads = 1;       ///< sampling threads
  /// Hears the distinct remote rows of each batch, ascending, batches in order, from one of the feed's
  /// threads before the batch is delivered. May be empty.
  std::function<void(StepId, std::span<const NodeId>)> on_rows = nullptr;
  metrics::Registry* figures = nullptr;  ///< gets the number of ready batches; outlives the feed; null: none
};

/// What a buffer for a feed with these options may know of the run.
[[nodiscard]] RunShape run_shape(const sample::Schedule& schedule, const FeedOptions& options);

/// What a feed is made from; everything outlives it.
struct FeedInputs {
  const graph::PartitionedGraph& graph;
  std::span<const graph::Part> parts;  ///< of this host, one after another
  const sample::Schedule& schedule;
  Rank rank = 0;  ///< whose part is one of `parts`
  /// Whom to ask for structure that `graph` does not have. The feed stops it.
  sample::RemoteNeighbors* remote = nullptr;
};

/// Batches of one rank out of a buffer's rows. The supply was made for the batches that `options` say. Owns
/// its threads (samplers, offering, gathering) and joins them on destruction at any moment; nothing runs
/// ahead with policy `none`. `deadline`: of a peer, after which next() stops waiting when nothing happens on
/// top of the program's own work.
[[nodiscard]] Result<std::unique_ptr<BatchSource>> make_feed(const FeedInputs& inputs,
                                                             std::unique_ptr<RowSupply> supply,
                                                             const FeedOptions& options, Duration deadline);

/// The same with a buffer of its own, which pulls through `plane`. The rows of the rank's part, the only one
/// in inputs.parts, must be published as table 0 by every rank, before or soon after.
///
/// Memory beside the batches: the buffer's slots, the misses of depth + 1 batches, and the sampled batches
/// that the policy looks ahead.
[[nodiscard]] Result<std::unique_ptr<BatchSource>> make_embedded_feed(const FeedInputs& inputs, Plane& plane,
                                                                      const FeedOptions& options,
                                                                      const BufferOptions& buffer);

}  // namespace rudder::dataplane
