// SPDX-License-Identifier: Apache-2.0
// Batches made ahead of use by two threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/row_supply.h"

#include "dataplane/batch_gatherer.h"
#include "dataplane/offered_batches.h"

namespace rudder::dataplane {

/// The offering thread takes what sampling threads made and offers its rows. The gathering thread waits for
/// the rows of one batch after the other and gathers them. The buffer's depth bounds how far both run ahead.
///
/// A failure of either thread ends both and is returned by next(), now and later.
class PipelinedFeed final : public BatchSource {
 public:
  /// `patience`: how long next() bears that nothing happens in any thread. `ready`: shows how many batches
  /// wait for the trainer; may be null.
  PipelinedFeed(std::unique_ptr<RowSupply> supply, std::unique_ptr<OfferedBatches> batches,
                std::unique_ptr<BatchGatherer> gatherer, Duration patience, metrics::Gauge* ready);
  ~PipelinedFeed() override;

  [[nodiscard]] std::uint64_t total() const override { return batches_->total(); }
  [[nodiscard]] Result<Batch> next() override;
  [[nodiscard]] std::uint32_t ready() const noexcept override {
    return ready_count_.load(std::memory_order_relaxed);  // a figure to look at
  }
  void recycle(Batch batch) override;

 private:
  void offer();
  void gather();
  /// With the mutex held.
  void show_ready() noexcept;
  /// Notes that a thread has begun something else.
  void now(std::string& what, const char* text);
  void fail(const Error& error);
  void stop();

  const std::unique_ptr<RowSupply> supply_;
  const std::unique_ptr<OfferedBatches> batches_;
  const std::unique_ptr<BatchGatherer> gatherer_;
  const Duration patience_;
  metrics::Gauge* const ready_gauge_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;     ///< calls of next()
  std::uint64_t progress_ = 0;  ///< counts whatever happens
  std::string offering_ = "starting";
  std::string gathering_ = "starting";
  std::deque<Batch> ready_;
  std::atomic<std::uint32_t> ready_count_{0};
  std::optional<Error> error_;
  bool stopping_ = false;

  std::thread offerer_;
  std::thread gathers_;
};

}  // namespace rudder::dataplane
