// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pipelined_feed.h"

#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"

namespace rudder::dataplane {

PipelinedFeed::PipelinedFeed(std::unique_ptr<PlanSource> source, std::unique_ptr<BatchBuilder> builder,
                             std::uint32_t depth, Duration patience)
    : source_(std::move(source)), builder_(std::move(builder)), depth_(depth), patience_(patience) {
  planner_ = std::thread([this] { plan(); });
  gatherer_ = std::thread([this] { gather(); });
}

PipelinedFeed::~PipelinedFeed() {
  stop();
  planner_.join();
  gatherer_.join();
}

void PipelinedFeed::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  source_->stop();
  builder_->stop();
}

void PipelinedFeed::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) {
      error_ = error;
    }
  }
  stop();
}

void PipelinedFeed::plan() {
  name_this_thread("rudder-plan");
  while (source_->more()) {
    auto work = source_->next();
    if (!work.ok()) {
      fail(work.error());
      return;
    }
    if (!wait_for_turn(work.value())) {
      return;
    }
    builder_->start(work.value());
    {
      const std::lock_guard lock(mutex_);
      in_flight_.push_back(std::move(work).value());
      planning_ = "sampling and planning the batch after it";
      ++progress_;
    }
    changed_.notify_all();
  }
}

bool PipelinedFeed::wait_for_turn(const Work& work) {
  std::unique_lock lock(mutex_);
  planning_ = "waiting for its turn to fetch";
  ++progress_;
  changed_.wait(lock, [&] {
    const bool near = work.plan.fill || work.plan.step < asked_ + depth_;
    return stopping_ || (near && started_ - gathered_ < horizon(depth_));
  });
  ++started_;
  return !stopping_;
}

std::optional<Work> PipelinedFeed::take_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !in_flight_.empty(); });
  if (stopping_) {
    return std::nullopt;
  }
  Work work = std::move(in_flight_.front());
  in_flight_.pop_front();
  return work;
}

Status PipelinedFeed::finish(Work& work) {
  std::optional<Batch> batch;
  if (work.plan.fill) {
    RUDDER_TRY(builder_->fill(work));
  } else {
    RUDDER_ASSIGN(batch, builder_->finish(work));
  }
  {
    const std::lock_guard lock(mutex_);
    ++gathered_;
    ++progress_;
    if (batch) {
      ready_.push_back(std::move(*batch));
    }
  }
  changed_.notify_all();
  return {};
}

void PipelinedFeed::gather() {
  name_this_thread("rudder-gather");
  for (std::uint64_t made = 0; made < total();) {
    auto work = take_work();
    if (!work) {
      return;
    }
    const bool is_batch = !work->plan.fill;
    const Status finished = finish(*work);
    if (!finished.ok()) {
      fail(finished.error());
      return;
    }
    made += is_batch ? 1U : 0U;
  }
}

Result<Batch> PipelinedFeed::next() {
  std::unique_lock lock(mutex_);
  if (asked_ == total()) {
    return Error{Errc::kInvalidArgument, fmt::format("all {} batches were delivered", total())};
  }
  ++asked_;
  changed_.notify_all();
  std::uint64_t seen = progress_;
  for (;;) {
    const bool woken = changed_.wait_until(lock, Deadline::in(patience_).at(), [&] {
      return error_ || stopping_ || !ready_.empty() || progress_ != seen;
    });
    if (error_) {
      return *error_;
    }
    if (stopping_) {
      return Error{Errc::kCancelled, "the feed is being destroyed"};
    }
    if (!ready_.empty()) {
      Batch batch = std::move(ready_.front());
      ready_.pop_front();
      return batch;
    }
    if (!woken) {
      const std::string gathering =
          started_ == gathered_ ? "idle" : fmt::format("at work on one of {} plans", started_ - gathered_);
      return Error{
          Errc::kTimeout,
          fmt::format("batch {} is not ready and nothing has happened for {:.0f} s; planning thread: {} "
                      "({} plans asked for); gathering thread: {}",
                      asked_ - 1, to_seconds(patience_), planning_, started_, gathering)};
    }
    seen = progress_;
  }
}

void PipelinedFeed::recycle(Batch batch) {
  builder_->recycle(std::move(batch.rows));
  source_->recycle(std::move(batch.sampled));
}

}  // namespace rudder::dataplane
