// SPDX-License-Identifier: Apache-2.0
// Batches made ahead of use by two threads.
#pragma once

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

#include "dataplane/batch_builder.h"
#include "dataplane/plan_source.h"

namespace rudder::dataplane {

/// The planning thread samples (or takes what sampling threads made), plans, and asks for prompt rows. The
/// gathering thread finishes plans in order. At most `depth` batches are asked for, in work or ready beyond
/// the one in training, and at most depth + 1 plans are asked for and not gathered: the planner's horizon.
///
/// A failure of either thread ends both and is returned by next(), now and later. Both threads wait for the
/// trainer without limit, and for peers within the plane's deadline.
class PipelinedFeed final : public BatchSource {
 public:
  /// Plans that may be in flight at the same time with `depth` batches ahead.
  [[nodiscard]] static constexpr std::uint32_t horizon(std::uint32_t depth) noexcept { return depth + 1; }

  /// `patience`: how long next() bears that nothing happens in any thread.
  PipelinedFeed(std::unique_ptr<PlanSource> source, std::unique_ptr<BatchBuilder> builder,
                std::uint32_t depth, Duration patience);
  ~PipelinedFeed() override;

  [[nodiscard]] std::uint64_t total() const override { return source_->total(); }
  [[nodiscard]] Result<Batch> next() override;
  void recycle(Batch batch) override;

 private:
  void plan();
  void gather();
  /// Waits until the plan may be asked for; false when the feed stops.
  [[nodiscard]] bool wait_for_turn(const Work& work);
  [[nodiscard]] std::optional<Work> take_work();
  [[nodiscard]] Status finish(Work& work);
  void fail(const Error& error);
  void stop();

  const std::unique_ptr<PlanSource> source_;
  const std::unique_ptr<BatchBuilder> builder_;
  const std::uint32_t depth_;
  const Duration patience_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;            ///< calls of next()
  std::uint64_t started_ = 0;          ///< plans asked for, the fill included
  std::uint64_t gathered_ = 0;         ///< plans finished, the fill included
  std::uint64_t progress_ = 0;         ///< counts whatever happens
  std::string planning_ = "starting";  ///< what the planning thread is at
  std::deque<Work> in_flight_;
  std::deque<Batch> ready_;
  std::optional<Error> error_;
  bool stopping_ = false;

  std::thread planner_;
  std::thread gatherer_;
};

}  // namespace rudder::dataplane
