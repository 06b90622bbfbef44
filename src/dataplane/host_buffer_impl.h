// SPDX-License-Identifier: Apache-2.0
// The monitor behind a host's buffer: who has offered, asked, taken and released what, and which plan is at
// which stage. tests/model/host_buffer.pml is its protocol, checked in all interleavings.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/row_supply.h"

#include "dataplane/buffer_figures.h"
#include "dataplane/host_buffer.h"
#include "dataplane/host_planner.h"
#include "dataplane/row_memory.h"
#include "dataplane/row_store.h"

namespace rudder::dataplane {

/// Plans that may be in flight at the same time.
[[nodiscard]] inline std::uint32_t horizon_of(const SupplyTerms& terms) {
  return terms.ahead ? terms.depth + 1 : 1;
}

/// Calls of trainer i as in RowSupply. Thread-safe.
class HostBuffer::Impl {
 public:
  /// `steersman` outlives this; null: there is none.
  Impl(std::uint64_t steps, SupplyTerms terms, BufferFigures figures, cache::Steersman* steersman,
       std::unique_ptr<RowMemory> memory, std::unique_ptr<RowStore> store)
      : terms_(std::move(terms)),
        steps_(steps),
        horizon_(horizon_of(terms_)),
        trainers_(terms_.parts),
        figures_(figures),
        steersman_(steersman),
        memory_(std::move(memory)),
        store_(std::move(store)) {}
  ~Impl() {
    fail(Error{Errc::kCancelled, "the buffer is being destroyed"});
    if (planning_.joinable()) {
      planning_.join();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start(std::unique_ptr<HostPlanner> planner);

  [[nodiscard]] Status offer(std::size_t i, std::vector<NodeId> rows);
  void ask(std::size_t i);
  [[nodiscard]] Result<PlacedRows> take(std::size_t i);
  void release(std::size_t i);
  void stop(std::size_t i);
  void leave(std::size_t i);
  void fail(const Error& error);
  [[nodiscard]] std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return error_ && error_->code != Errc::kCancelled ? error_ : std::nullopt;
  }
  [[nodiscard]] std::string waiting_for() const;
  [[nodiscard]] const SupplyTerms& terms() const { return terms_; }

 private:
  struct Trainer {
    std::deque<std::vector<NodeId>> offered;  ///< not merged yet
    std::deque<std::vector<NodeId>> merged;   ///< planned or being planned, not released; with others only
    std::uint64_t offers = 0;
    std::uint64_t asked = 0;
    std::uint64_t taken = 0;
    bool holding = false;  ///< reads the rows of batch taken - 1
    bool stopped = false;
    bool gone = false;
  };

  void plan();
  [[nodiscard]] bool push_next();
  [[nodiscard]] std::optional<std::vector<NodeId>> merge_next();
  [[nodiscard]] bool wait_for_turn(const cache::Plan& plan);
  void advance(std::unique_lock<std::mutex>& lock);
  void admit_if_released(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool alone() const { return trainers_.size() == 1; }
  [[nodiscard]] bool all_offered() const;
  [[nodiscard]] std::uint64_t least_asked() const;
  void fail_locked(const Error& error);

  const SupplyTerms terms_;
  const std::uint64_t steps_;
  const std::uint32_t horizon_;
  std::unique_ptr<HostPlanner> planner_;  ///< the planning thread's

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Trainer> trainers_;
  std::uint64_t wanted_ = 0;    ///< batches that trainers may have offered
  std::uint64_t merged_ = 0;    ///< batches taken from all trainers
  std::uint64_t started_ = 0;   ///< plans asked for, the fill included
  std::uint64_t finished_ = 0;  ///< plans admitted, the fill included
  std::uint64_t staged_ = 0;    ///< rows of plans asked for and not admitted
  std::deque<Fetch> in_flight_;
  std::optional<Fetch> current_;  ///< its rows are in place
  std::size_t counted_by_ = 0;    ///< the trainer that gets the counts of `current_`
  bool busy_ = false;             ///< some thread waits for the network or admits, without the mutex
  cache::Counts fill_counts_;
  Transfer moved_;  ///< for `current_`, with what the fill moved in the first batch
  std::optional<Error> error_;
  BufferFigures figures_;              ///< planned() is the planning thread's
  cache::Steersman* const steersman_;  ///< the planning thread's, as is the next one
  TimePoint free_at_{};                ///< when the pace lets rows of the next batch move ahead of need

  const std::unique_ptr<RowMemory> memory_;
  const std::unique_ptr<RowStore> store_;
  std::thread planning_;
};

}  // namespace rudder::dataplane
