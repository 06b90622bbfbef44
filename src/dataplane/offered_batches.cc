// SPDX-License-Identifier: Apache-2.0
#include "dataplane/offered_batches.h"

#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {
namespace {

/// A single batch that is not sampled within this time means a stuck machine.
constexpr Duration kSamplingPatience = std::chrono::minutes(10);

sample::StreamOptions stream_options(Rank rank, const FeedOptions& options, std::size_t threads,
                                     std::size_t ahead) {
  sample::StreamOptions out;
  out.rank = rank;
  out.epochs = options.epochs;
  out.first_step = options.first_step;
  out.fanout = options.fanout;
  out.threads = threads;
  out.ahead = ahead;
  return out;
}

sample::SampleStream make_stream(const FeedInputs& inputs, const sample::StreamOptions& options) {
  if (inputs.graph.has_topology()) {
    return {inputs.graph.topology(), inputs.schedule, options};
  }
  return {inputs.graph.slice(inputs.rank), inputs.graph.meta().nodes, *inputs.remote, inputs.schedule,
          options};
}

}  // namespace

OfferedBatches::OfferedBatches(const FeedInputs& inputs, const FeedOptions& options, std::size_t threads,
                               std::size_t ahead, NodeId begin, NodeId end, RowSupply& supply)
    : stream_(make_stream(inputs, stream_options(inputs.rank, options, threads, ahead))),
      splitter_(begin, end, inputs.graph.book().nodes()),
      supply_(supply),
      on_rows_(options.on_rows) {}

Status OfferedBatches::offer_next() {
  auto batch = stream_.next(Deadline::in(kSamplingPatience));
  if (!batch.ok()) {
    return batch.error().in(fmt::format("sampling batch {}", offered_));
  }
  OfferedBatch offered{std::move(batch).value(), {}};
  std::vector<NodeId> rows;
  splitter_.split(offered.sampled.nodes, rows, offered.positions);
  if (on_rows_) {
    on_rows_(offered_, rows);
  }
  {
    // Before the offer: as soon as that is taken, the rows may be in place.
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(offered));
  }
  ++offered_;
  return supply_.offer(std::move(rows));
}

OfferedBatch OfferedBatches::take() {
  const std::lock_guard lock(mutex_);
  RUDDER_CHECK(!waiting_.empty(), "rows of a batch that was not offered");
  OfferedBatch oldest = std::move(waiting_.front());
  waiting_.pop_front();
  return oldest;
}

}  // namespace rudder::dataplane
