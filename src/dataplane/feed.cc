// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/feed.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dataplane/batch_builder.h"
#include "dataplane/pipelined_feed.h"
#include "dataplane/plan_source.h"

namespace rudder::dataplane {
namespace {

/// Beyond a peer's deadline, what sampling, planning and gathering one batch may take on a loaded machine.
constexpr Duration kOwnWork = std::chrono::minutes(2);

/// Does everything inside next(), one after another.
class SynchronousFeed final : public BatchSource {
 public:
  SynchronousFeed(std::unique_ptr<PlanSource> source, std::unique_ptr<BatchBuilder> builder)
      : source_(std::move(source)), builder_(std::move(builder)) {}

  [[nodiscard]] std::uint64_t total() const override { return source_->total(); }

  [[nodiscard]] Result<Batch> next() override {
    if (failed_) {
      return *failed_;
    }
    if (!source_->more()) {
      return Error{Errc::kInvalidArgument, fmt::format("all {} batches were delivered", total())};
    }
    auto batch = make();
    if (!batch.ok()) {
      failed_ = batch.error();
    }
    return batch;
  }

  void recycle(Batch batch) override {
    builder_->recycle(std::move(batch.rows));
    source_->recycle(std::move(batch.sampled));
  }

 private:
  [[nodiscard]] Result<Batch> make() {
    RUDDER_ASSIGN(Work work, source_->next());
    if (work.plan.fill) {
      RUDDER_TRY(builder_->fill(work));
      RUDDER_ASSIGN(work, source_->next());
    }
    builder_->start(work);
    return builder_->finish(work);
  }

  const std::unique_ptr<PlanSource> source_;
  const std::unique_ptr<BatchBuilder> builder_;
  std::optional<Error> failed_;
};

Status check_inputs(const FeedInputs& inputs, const FeedOptions& options) {
  const PartId parts = inputs.graph.book().parts();
  if (inputs.schedule.world() != parts || inputs.rank >= parts || inputs.part.id() != inputs.rank) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("feed of rank {} with part {} of {} and a schedule for {} ranks", inputs.rank,
                             inputs.part.id(), parts, inputs.schedule.world())};
  }
  if (inputs.graph.row_bytes() == 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: the graph has no features to feed", inputs.graph.directory().string())};
  }
  if (options.fanout.empty()) {
    return Error{Errc::kInvalidArgument, "no fan-out given"};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchSource>> make_embedded_feed(const graph::PartitionedGraph& graph,
                                                        const graph::Part& part,
                                                        const sample::Schedule& schedule, Plane& plane,
                                                        Rank rank, const FeedOptions& options) {
  const FeedInputs inputs{graph, part, schedule, plane, rank};
  RUDDER_TRY(check_inputs(inputs, options));
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(options.policy));
  const bool ahead = info->overlapped && options.depth > 0;
  RUDDER_ASSIGN(auto builder, BatchBuilder::create(inputs, options.slots));
  RUDDER_ASSIGN(auto source,
                PlanSource::create(inputs, options, ahead ? PipelinedFeed::horizon(options.depth) : 0,
                                   ahead ? options.threads : 0));
  if (!ahead) {
    return std::unique_ptr<BatchSource>(
        std::make_unique<SynchronousFeed>(std::move(source), std::move(builder)));
  }
  return std::unique_ptr<BatchSource>(std::make_unique<PipelinedFeed>(
      std::move(source), std::move(builder), options.depth, plane.options().deadline + kOwnWork));
}

}  // namespace rudder::dataplane
