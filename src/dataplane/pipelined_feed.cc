// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pipelined_feed.h"

#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"

namespace rudder::dataplane {

PipelinedFeed::PipelinedFeed(std::unique_ptr<RowSupply> supply, std::unique_ptr<OfferedBatches> batches,
                             std::unique_ptr<BatchGatherer> gatherer, Duration patience,
                             metrics::Gauge* ready)
    : supply_(std::move(supply)),
      batches_(std::move(batches)),
      gatherer_(std::move(gatherer)),
      patience_(patience),
      ready_gauge_(ready) {
  offerer_ = std::thread([this] { offer(); });
  gathers_ = std::thread([this] { gather(); });
}

PipelinedFeed::~PipelinedFeed() {
  stop();
  offerer_.join();
  gathers_.join();
}

void PipelinedFeed::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  batches_->stop();
  supply_->stop();
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

void PipelinedFeed::now(std::string& what, const char* text) {
  {
    const std::lock_guard lock(mutex_);
    what = text;
    ++progress_;
  }
  changed_.notify_all();
}

void PipelinedFeed::show_ready() noexcept {
  ready_count_.store(static_cast<std::uint32_t>(ready_.size()), std::memory_order_relaxed);
  if (ready_gauge_ != nullptr) {
    ready_gauge_->set(static_cast<double>(ready_.size()));
  }
}

void PipelinedFeed::offer() {
  name_this_thread("rudder-offer");
  for (std::uint64_t i = 0; i < total(); ++i) {
    now(offering_, "sampling, or waiting until rows are wanted");
    const Status offered = batches_->offer_next();
    if (!offered.ok()) {
      fail(offered.error());
      return;
    }
  }
  now(offering_, "done");
}

void PipelinedFeed::gather() {
  name_this_thread("rudder-gather");
  for (std::uint64_t i = 0; i < total(); ++i) {
    now(gathering_, "waiting for rows");
    const auto placed = supply_->take();
    if (!placed.ok()) {
      fail(placed.error());
      return;
    }
    now(gathering_, "gathering");
    OfferedBatch batch = batches_->take();
    Batch gathered = gatherer_->gather(std::move(batch.sampled), batch.positions, placed.value());
    supply_->release();
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(gathered));
      show_ready();
    }
    changed_.notify_all();
  }
}

Result<Batch> PipelinedFeed::next() {
  std::unique_lock lock(mutex_);
  if (asked_ == total()) {
    return Error{Errc::kInvalidArgument, fmt::format("all {} batches were delivered", total())};
  }
  ++asked_;
  lock.unlock();
  supply_->ask();
  lock.lock();
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
      show_ready();
      return batch;
    }
    if (!woken) {
      return Error{
          Errc::kTimeout,
          fmt::format("batch {} is not ready and nothing has happened for {:.0f} s; offering thread: "
                      "{}; gathering thread: {}; the buffer waits for {}",
                      asked_ - 1, to_seconds(patience_), offering_, gathering_, supply_->waiting_for())};
    }
    seen = progress_;
  }
}

void PipelinedFeed::recycle(Batch batch) {
  gatherer_->recycle(std::move(batch.rows));
  batches_->recycle(std::move(batch.sampled));
}

}  // namespace rudder::dataplane
