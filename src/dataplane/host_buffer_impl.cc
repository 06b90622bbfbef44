// SPDX-License-Identifier: Apache-2.0
#include "dataplane/host_buffer_impl.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/machine.h"

namespace rudder::dataplane {

void HostBuffer::Impl::start(std::unique_ptr<HostPlanner> planner) {
  planner_ = std::move(planner);
  planning_ = std::thread([this] { plan(); });
}

void HostBuffer::Impl::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  fail_locked(error);
}

void HostBuffer::Impl::fail_locked(const Error& error) {
  if (!error_) {
    error_ = error;
  }
  store_->stop();
  changed_.notify_all();
}

void HostBuffer::Impl::plan() {
  name_this_thread("rudder-plan");
  cache::Planner& planner = planner_->planner();
  for (std::uint64_t planned = 0; planned < steps_;) {
    // Only this thread changes merged_.
    while (planner.wants_input() || (merged_ < steps_ && merged_ <= planned + planner_->ahead())) {
      if (merged_ == steps_) {
        planner.finish();
      } else if (!push_next()) {
        return;
      }
    }
    Fetch fetch;
    fetch.plan = planner.next();
    figures_.planned(planner.residency().size());
    if (steersman_ != nullptr) {
      steersman_->planned(fetch.plan, planner);
    }
    if (!wait_for_turn(fetch.plan)) {
      return;
    }
    const Status started = store_->start(fetch);
    if (!started.ok()) {
      fail(started.error());
      return;
    }
    planned += fetch.plan.fill ? 0U : 1U;
    const std::lock_guard lock(mutex_);
    in_flight_.push_back(std::move(fetch));
    changed_.notify_all();
  }
}

/// Gives the planner one more batch; false after a failure.
bool HostBuffer::Impl::push_next() {
  auto rows = merge_next();
  if (!rows) {
    return false;
  }
  if (steersman_ != nullptr) {
    steersman_->pushed(merged_ - 1, *rows);
  }
  planner_->planner().push(std::move(*rows));
  return true;
}

bool HostBuffer::Impl::all_offered() const {
  return std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone || !t.offered.empty(); });
}

std::optional<std::vector<NodeId>> HostBuffer::Impl::merge_next() {
  std::unique_lock lock(mutex_);
  wanted_ = merged_ + 1;
  changed_.notify_all();
  changed_.wait(lock, [&] { return error_ || all_offered(); });
  if (error_) {
    return std::nullopt;
  }
  ++merged_;
  std::vector<NodeId> rows;
  std::vector<NodeId> both;
  for (Trainer& trainer : trainers_) {
    if (trainer.gone) {
      continue;
    }
    std::vector<NodeId> own = std::move(trainer.offered.front());
    trainer.offered.pop_front();
    if (alone()) {
      return own;
    }
    both.clear();
    std::ranges::set_union(rows, own, std::back_inserter(both));
    rows.swap(both);
    trainer.merged.push_back(std::move(own));
  }
  return rows;
}

std::uint64_t HostBuffer::Impl::least_asked() const {
  std::uint64_t least = steps_;
  for (const Trainer& trainer : trainers_) {
    if (!trainer.gone) {
      least = std::min(least, trainer.asked);
    }
  }
  return least;
}

bool HostBuffer::Impl::wait_for_turn(const cache::Plan& plan) {
  const cache::Pace pace = steersman_ == nullptr ? cache::Pace{.depth = terms_.depth} : steersman_->pace();
  const std::uint64_t reach = std::min(horizon_, pace.depth + 1);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const bool near = plan.fill || plan.step + 1 < least_asked() + reach;
    const bool fits =
        pace.staged_rows == 0 || started_ == finished_ || staged_ + plan.fetch.size() <= pace.staged_rows;
    return error_ || (near && fits && started_ - finished_ < horizon_);
  });
  if (pace.bytes_per_second > 0) {
    // What somebody has asked for is held up by nothing.
    changed_.wait_until(lock, free_at_, [&] { return error_ || plan.fill || plan.step < least_asked(); });
    const auto bytes = static_cast<double>(plan.fetch.size() * store_->row_bytes());
    free_at_ = std::max(free_at_, steady_clock().now()) + from_seconds(bytes / pace.bytes_per_second);
  }
  ++started_;
  staged_ += plan.fetch.size();
  figures_.in_flight(started_ - finished_);
  return !error_;
}

Status HostBuffer::Impl::offer(std::size_t i, std::vector<NodeId> rows) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  RUDDER_CHECK(me.offers < steps_, "more batches than the run has");
  changed_.wait(lock, [&] { return error_ || me.stopped || me.offers < wanted_; });
  if (error_) {
    return *error_;
  }
  if (me.stopped) {
    return Error{Errc::kCancelled, "the trainer leaves"};
  }
  ++me.offers;
  me.offered.push_back(std::move(rows));
  changed_.notify_all();
  return {};
}

void HostBuffer::Impl::ask(std::size_t i) {
  const std::lock_guard lock(mutex_);
  ++trainers_[i].asked;
  changed_.notify_all();
}

/// Brings the next plan's rows into place. `lock` is held before and after, not during the wait.
void HostBuffer::Impl::advance(std::unique_lock<std::mutex>& lock) {
  Fetch fetch = std::move(in_flight_.front());
  in_flight_.pop_front();
  busy_ = true;
  lock.unlock();
  auto moved = fetch.plan.fill ? store_->fill(fetch.plan) : store_->wait(fetch);
  lock.lock();
  busy_ = false;
  if (!moved.ok()) {
    fail_locked(moved.error());
    return;
  }
  moved_ += moved.value();
  if (fetch.plan.fill) {
    fill_counts_ = fetch.plan.counts;
    staged_ -= fetch.plan.fetch.size();
    figures_.in_flight(started_ - ++finished_);
  } else {
    fetch.plan.counts += std::exchange(fill_counts_, {});
    counted_by_ = static_cast<std::size_t>(
        std::ranges::find_if(trainers_, [](const Trainer& t) { return !t.gone; }) - trainers_.begin());
    current_ = std::move(fetch);
  }
  changed_.notify_all();
}

Result<PlacedRows> HostBuffer::Impl::take(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  for (;;) {
    if (error_) {
      return *error_;
    }
    if (me.stopped) {
      return Error{Errc::kCancelled, "the trainer leaves"};
    }
    if (current_ && current_->plan.step == me.taken) {
      break;
    }
    if (!busy_ && !current_ && !in_flight_.empty()) {
      advance(lock);
    } else {
      changed_.wait(lock);
    }
  }
  me.holding = true;
  ++me.taken;
  PlacedRows placed;
  placed.step = current_->plan.step;
  placed.slots = store_->slots()->data();
  placed.slot_memory = store_->slots();
  if (current_->staging != nullptr) {
    placed.staging = current_->staging->data();
    placed.staging_memory = current_->staging;
  }
  if (counted_by_ == i) {
    placed.counts = current_->plan.counts;
    placed.transfer = std::exchange(moved_, {});
  }
  if (alone()) {
    placed.places = std::move(current_->plan.sources);
    return placed;
  }
  // While this trainer holds the batch, neither its rows nor the plan change.
  const std::vector<NodeId>& own = me.merged.front();
  const cache::Plan& plan = current_->plan;
  lock.unlock();
  placed.places.reserve(own.size());
  std::size_t at = 0;
  for (const NodeId row : own) {
    while (plan.rows[at] != row) {
      ++at;
    }
    placed.places.push_back(plan.sources[at]);
  }
  return placed;
}

void HostBuffer::Impl::release(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  RUDDER_CHECK(me.holding, "release() without a batch");
  me.holding = false;
  if (!alone()) {
    me.merged.pop_front();
  }
  admit_if_released(lock);
}

/// Admits the current batch once nobody will read it any more. `lock` as for advance().
void HostBuffer::Impl::admit_if_released(std::unique_lock<std::mutex>& lock) {
  if (!current_ || busy_) {
    return;
  }
  const StepId step = current_->plan.step;
  if (!std::ranges::all_of(trainers_,
                           [&](const Trainer& t) { return t.gone || (t.taken > step && !t.holding); })) {
    return;
  }
  Fetch fetch = std::move(*current_);
  current_.reset();
  busy_ = true;
  lock.unlock();
  store_->admit(fetch);
  lock.lock();
  busy_ = false;
  staged_ -= fetch.plan.fetch.size();
  figures_.in_flight(started_ - ++finished_);
  changed_.notify_all();
}

void HostBuffer::Impl::stop(std::size_t i) {
  const std::lock_guard lock(mutex_);
  trainers_[i].stopped = true;
  if (std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone || t.stopped; })) {
    store_->stop();
  }
  changed_.notify_all();
}

void HostBuffer::Impl::leave(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  me.gone = true;
  me.holding = false;
  me.offered.clear();
  me.merged.clear();
  if (std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone; })) {
    fail_locked(Error{Errc::kCancelled, "all trainers have left"});
    return;
  }
  changed_.notify_all();
  admit_if_released(lock);
}

std::string HostBuffer::Impl::waiting_for() const {
  const std::lock_guard lock(mutex_);
  if (busy_) {
    return "the network";
  }
  if (current_) {
    for (std::size_t i = 0; i < trainers_.size(); ++i) {
      if (!trainers_[i].gone && (trainers_[i].holding || trainers_[i].taken <= current_->plan.step)) {
        return fmt::format("local trainer {} to read batch {}", i, current_->plan.step);
      }
    }
  }
  for (std::size_t i = 0; i < trainers_.size(); ++i) {
    if (!trainers_[i].gone && trainers_[i].offered.empty() && trainers_[i].offers < wanted_) {
      return fmt::format("local trainer {} to say which rows batch {} needs", i, merged_);
    }
  }
  return "the planner";
}

}  // namespace rudder::dataplane
