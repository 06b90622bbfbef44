// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/feed.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dataplane/batch_gatherer.h"
#include "dataplane/host_buffer.h"
#include "dataplane/offered_batches.h"
#include "dataplane/pipelined_feed.h"

namespace rudder::dataplane {
namespace {

/// Beyond a peer's deadline, what sampling, planning and gathering one batch may take on a loaded machine.
constexpr Duration kOwnWork = std::chrono::minutes(2);

/// Does everything inside next(), one after another.
class SynchronousFeed final : public BatchSource {
 public:
  SynchronousFeed(std::unique_ptr<RowSupply> supply, std::unique_ptr<OfferedBatches> batches,
                  std::unique_ptr<BatchGatherer> gatherer)
      : supply_(std::move(supply)), batches_(std::move(batches)), gatherer_(std::move(gatherer)) {}

  [[nodiscard]] std::uint64_t total() const override { return batches_->total(); }

  [[nodiscard]] Result<Batch> next() override {
    if (failed_) {
      return *failed_;
    }
    if (made_ == total()) {
      return Error{Errc::kInvalidArgument, fmt::format("all {} batches were delivered", total())};
    }
    auto batch = make();
    if (batch.ok()) {
      ++made_;
    } else {
      failed_ = batch.error();
    }
    return batch;
  }

  void recycle(Batch batch) override {
    gatherer_->recycle(std::move(batch.rows));
    batches_->recycle(std::move(batch.sampled));
  }

 private:
  [[nodiscard]] Result<Batch> make() {
    supply_->ask();
    RUDDER_TRY(batches_->offer_next());
    RUDDER_ASSIGN(const PlacedRows placed, supply_->take());
    OfferedBatch offered = batches_->take();
    Batch batch = gatherer_->gather(std::move(offered.sampled), offered.positions, placed);
    supply_->release();
    return batch;
  }

  const std::unique_ptr<RowSupply> supply_;
  const std::unique_ptr<OfferedBatches> batches_;
  const std::unique_ptr<BatchGatherer> gatherer_;
  std::uint64_t made_ = 0;
  std::optional<Error> failed_;
};

Status check_inputs(const FeedInputs& inputs, const FeedOptions& options) {
  const PartId parts = inputs.graph.book().parts();
  const bool has_own =
      std::ranges::any_of(inputs.parts, [&](const graph::Part& part) { return part.id() == inputs.rank; });
  if (inputs.schedule.world() != parts || !has_own) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("feed of rank {} without part {} of {}, and a schedule for {} ranks",
                             inputs.rank, inputs.rank, parts, inputs.schedule.world())};
  }
  if (inputs.graph.row_bytes() == 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: the graph has no features to feed", inputs.graph.directory().string())};
  }
  if (options.fanout.empty()) {
    return Error{Errc::kInvalidArgument, "no fan-out given"};
  }
  if (!inputs.graph.has_topology() && inputs.remote == nullptr) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{}: the structure of one part is open, and nobody is there to be asked for the rest",
                    inputs.graph.directory().string())};
  }
  return {};
}

}  // namespace

RunShape run_shape(const sample::Schedule& schedule, const FeedOptions& options) {
  const std::uint64_t all = std::uint64_t{options.epochs} * schedule.steps_per_epoch();
  return {.steps = all - std::min(options.first_step, all),
          .steps_per_epoch = schedule.steps_per_epoch(),
          .seed = schedule.seed(),
          .batch = options.batch,
          .fanout = options.fanout};
}

Result<std::unique_ptr<BatchSource>> make_feed(const FeedInputs& inputs, std::unique_ptr<RowSupply> supply,
                                               const FeedOptions& options, Duration deadline) {
  RUDDER_TRY(check_inputs(inputs, options));
  auto gatherer =
      std::make_unique<BatchGatherer>(inputs.parts, inputs.rank - inputs.parts.front().id(),
                                      RowTypes{inputs.graph.meta().features, inputs.graph.meta().dtype,
                                               supply->terms().narrowed.value_or(inputs.graph.meta().dtype)});
  const bool ahead = supply->terms().ahead;
  const std::size_t threads = ahead ? options.threads : 0;
  auto batches =
      std::make_unique<OfferedBatches>(inputs, options, threads, supply->terms().depth + 2 * threads,
                                       gatherer->begin(), gatherer->end(), *supply);
  if (!ahead) {
    return std::unique_ptr<BatchSource>(
        std::make_unique<SynchronousFeed>(std::move(supply), std::move(batches), std::move(gatherer)));
  }
  metrics::Gauge* ready = nullptr;
  if (options.figures != nullptr) {
    ready = &options.figures->gauge("rudder_batches_ready", "Batches gathered and not trained on yet",
                                    {{"rank", std::to_string(inputs.rank)}});
  }
  return std::unique_ptr<BatchSource>(std::make_unique<PipelinedFeed>(
      std::move(supply), std::move(batches), std::move(gatherer), deadline + kOwnWork, ready));
}

Result<std::unique_ptr<BatchSource>> make_embedded_feed(const FeedInputs& inputs, Plane& plane,
                                                        const FeedOptions& options,
                                                        const BufferOptions& buffer) {
  RUDDER_TRY(check_inputs(inputs, options));
  RUDDER_ASSIGN(auto rows,
                HostBuffer::create(inputs.graph, std::array{PartId{inputs.rank}}, plane,
                                   run_shape(inputs.schedule, options), buffer, private_row_memory()));
  return make_feed(inputs, rows->supply(0), options, plane.options().deadline);
}

}  // namespace rudder::dataplane
