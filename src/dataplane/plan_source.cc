// SPDX-License-Identifier: Apache-2.0
#include "dataplane/plan_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/graph/vip.h"

namespace rudder::dataplane {
namespace {

/// A single batch that is not sampled within this time means a stuck machine.
constexpr Duration kSamplingPatience = std::chrono::minutes(10);

sample::StreamOptions stream_options(const FeedInputs& inputs, const FeedOptions& options,
                                     std::size_t sampling_threads) {
  sample::StreamOptions out;
  out.rank = inputs.rank;
  out.epochs = options.epochs;
  out.first_step = options.first_step;
  out.fanout = options.fanout;
  out.threads = sampling_threads;
  out.ahead = options.depth + 2 * sampling_threads;
  return out;
}

}  // namespace

PlanSource::PlanSource(const FeedInputs& inputs, const FeedOptions& options, std::size_t sampling_threads)
    : stream_(inputs.graph.topology(), inputs.schedule, stream_options(inputs, options, sampling_threads)),
      splitter_(inputs.part.begin(), inputs.part.begin() + inputs.part.size(), inputs.graph.book().nodes()),
      on_rows_(options.on_rows) {}

Result<std::unique_ptr<PlanSource>> PlanSource::create(const FeedInputs& inputs, const FeedOptions& options,
                                                       std::uint32_t horizon, std::size_t sampling_threads) {
  std::unique_ptr<PlanSource> source(new PlanSource(inputs, options, sampling_threads));
  RUDDER_TRY(source->plan_with(inputs, options, horizon));
  return source;
}

Status PlanSource::plan_with(const FeedInputs& inputs, const FeedOptions& options, std::uint32_t horizon) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(options.policy));
  if (!info->live) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("policy '{}' needs the whole trace, so it can only be replayed", options.policy)};
  }
  const graph::CscView topology = inputs.graph.topology();
  knowledge_.halo = graph::halo_of(topology, inputs.graph.book(), inputs.rank);
  if (info->needs_vip) {
    knowledge_.vip = graph::inclusion_probability(topology, inputs.graph.train(inputs.rank), options.batch,
                                                  options.fanout);
  }
  cache::PolicyContext context;
  context.capacity = options.slots;
  context.steps = total();
  context.steps_per_epoch = inputs.schedule.steps_per_epoch();
  context.seed = inputs.schedule.seed();
  context.owned_begin = inputs.part.begin();
  context.owned_end = inputs.part.begin() + inputs.part.size();
  context.halo = knowledge_.halo;
  context.indptr = topology.indptr;
  context.vip = knowledge_.vip;
  planner_ = std::make_unique<cache::Planner>(info->make(context, options.settings), options.slots, horizon);
  return {};
}

Status PlanSource::sample_one() {
  auto batch = stream_.next(Deadline::in(kSamplingPatience));
  if (!batch.ok()) {
    return batch.error().in(fmt::format("sampling batch {}", sampled_));
  }
  Sampled sampled{std::move(batch).value(), {}};
  std::vector<NodeId> rows;
  splitter_.split(sampled.batch.nodes, rows, sampled.positions);
  if (on_rows_) {
    on_rows_(sampled_, rows);
  }
  waiting_.push_back(std::move(sampled));
  ++sampled_;
  planner_->push(std::move(rows));
  return {};
}

Result<Work> PlanSource::next() {
  while (planner_->wants_input()) {
    if (sampled_ == total()) {
      planner_->finish();
    } else {
      RUDDER_TRY(sample_one());
    }
  }
  Work work;
  work.plan = planner_->next();
  if (!work.plan.fill) {
    work.sampled = std::move(waiting_.front().batch);
    work.positions = std::move(waiting_.front().positions);
    waiting_.pop_front();
    ++planned_;
  }
  return work;
}

}  // namespace rudder::dataplane
