// SPDX-License-Identifier: Apache-2.0
#include "train/stepper.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/core.h>

namespace rudder::train {
namespace {

constexpr std::size_t kBucketFloats = std::size_t{1} << 18;  // 1 MiB a gradient sum

}  // namespace

Result<TimePoint> Stepper::step(dataplane::BatchSource& feed, TimePoint start, StepSums& sums) {
  Group group;
  RUDDER_ASSIGN(const TimePoint learnt, learn(feed, start, sums, group));
  Learner& learner = setting_.learner;
  const bool stopping = setting_.stop != nullptr && setting_.stop->load(std::memory_order_relaxed);
  const std::span<float> passengers = learner.passengers();
  passengers[0] = static_cast<float>(group.global_loss);
  passengers[1] = stopping ? 1.0F : 0.0F;
  RUDDER_TRY(sum_gradient());
  const TimePoint summed = steady_clock().now();
  sums.times.all_reduce += to_seconds(summed - learnt);
  if (passengers[1] > 0 && !setting_.options.checkpoint_directory.empty()) {
    stopped_ = true;
    setting_.progress.save(learner);
    return summed;
  }
  if (passengers[1] > 0) {
    return Error{Errc::kCancelled, fmt::format("stopped in epoch {}, step {}", setting_.progress.epoch(),
                                               setting_.progress.step_in_epoch())};
  }
  RUDDER_TRY(check(passengers[0]));
  loss_ = static_cast<double>(passengers[0]);
  if (group.total > 0) {
    learner.update();
  }
  hit_rates_.push_back(group.counts.requests == 0 ? 1.0
                                                  : static_cast<double>(group.counts.hits) /
                                                        static_cast<double>(group.counts.requests));
  const double loss = group.seeds > 0 ? group.loss / group.seeds : 0;
  setting_.progress.finish_step(static_cast<float>(loss), passengers[0], learner);
  const TimePoint end = steady_clock().now();
  sums.times.compute += to_seconds(end - summed);
  batch_times_ += {.compute = to_seconds(end - summed), .all_reduce = to_seconds(summed - learnt)};
  tell(feed, true);
  return end;
}

/// Tells who steers of the last batch. What a planner may wait for has been told before next() is called.
void Stepper::tell(const dataplane::BatchSource& feed, bool averaged) {
  if (setting_.steering != nullptr) {
    setting_.steering->trained(batch_times_, batch_bytes_, averaged, feed.ready());
  }
}

Result<TimePoint> Stepper::learn(dataplane::BatchSource& feed, TimePoint start, StepSums& sums,
                                 Group& group) {
  const std::uint32_t first = setting_.progress.first_batch_in_epoch();
  const std::uint32_t end = first + setting_.progress.batches();
  group.total = static_cast<double>(setting_.seeds.of_group(first, setting_.progress.batches()));
  for (std::uint32_t b = first; b < end; ++b) {
    RUDDER_ASSIGN(dataplane::Batch batch, feed.next());
    const TimePoint fed = steady_clock().now();
    const auto seeds = static_cast<double>(labelled(batch));
    const double weight = seeds > 0 ? seeds / group.total : 0;
    RUDDER_ASSIGN(const float loss, setting_.learner.learn(lesson_of(batch, weight)));
    group.loss += seeds * static_cast<double>(loss);
    group.seeds += seeds;
    group.global_loss += weight * static_cast<double>(loss);
    group.counts += batch.counts;
    sums.counts += batch.counts;
    sums.moved += batch.transfer;
    sums.asked += batch.sampled.asked;
    batch_bytes_ = batch.transfer.wire_bytes;
    feed.recycle(std::move(batch));
    const TimePoint learnt = steady_clock().now();
    batch_times_ = {.compute = to_seconds(learnt - fed), .stall = to_seconds(fed - start)};
    sums.times += batch_times_;
    if (b + 1 < end) {
      tell(feed, false);
    }
    start = learnt;
  }
  return start;
}

std::size_t Stepper::labelled(const dataplane::Batch& batch) const {
  return setting_.graph.meta().multi_label
             ? batch.sampled.seeds
             : static_cast<std::size_t>(
                   std::ranges::count_if(batch.labels, [](std::int64_t label) { return label >= 0; }));
}

Lesson Stepper::lesson_of(const dataplane::Batch& batch, double weight) {
  if (setting_.learner.needs_degrees()) {
    setting_.structure.degrees(batch.sampled.nodes, degrees_);
  }
  label_rows_.clear();
  if (setting_.graph.meta().multi_label) {
    const auto classes = static_cast<std::size_t>(setting_.graph.meta().classes);
    for (LocalId i = 0; i < batch.sampled.seeds; ++i) {
      const auto row = static_cast<std::size_t>(batch.sampled.nodes[i] - setting_.part.begin());
      const auto flags = setting_.part.label_rows().subspan(row * classes, classes);
      label_rows_.insert(label_rows_.end(), flags.begin(), flags.end());
    }
  }
  return {.batch = &batch.sampled,
          .rows = batch.rows.data(),
          .dtype = setting_.graph.meta().dtype,
          .degrees = degrees_,
          .labels = batch.labels,
          .label_rows = label_rows_,
          .weight = weight};
}

Status Stepper::sum_gradient() {
  const std::span<float> all = setting_.learner.gradient_and_passengers();
  for (std::size_t begin = 0; begin < all.size(); begin += kBucketFloats) {
    RUDDER_TRY(
        setting_.collective.start_sum(all.subspan(begin, std::min(kBucketFloats, all.size() - begin))));
  }
  return setting_.collective.finish_sums();
}

Status Stepper::check(float loss) const {
  if (std::isfinite(loss)) {
    return {};
  }
  return Error{Errc::kInvalidData,
               fmt::format("the loss of epoch {}, step {} is {}: the training diverges (a lower "
                           "--learning-rate or --clip-norm may help), or features are not finite "
                           "(rudder graph info looks)",
                           setting_.progress.epoch(), setting_.progress.step_in_epoch(), loss)};
}

}  // namespace rudder::train
