// SPDX-License-Identifier: Apache-2.0
#include "steer/live_windows.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "rudder/core/check.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMostRows = std::size_t{1} << 24;  // that the observer remembers
/// Above so many rows the observer follows one in eight.
constexpr std::size_t kFollowAll = std::size_t{1} << 16;

}  // namespace

LiveWindows::LiveWindows(const PilotOptions& options, std::uint32_t ahead, PlannerSide& planner,
                         SpscRing<TrainedNote>& trained)
    : options_(options), ahead_(ahead), planner_(planner), trained_(trained), world_(options) {
  if (auto load = processor_load(); load.ok()) {
    host_ = std::move(load).value();
  }
}

bool LiveWindows::take_plan() {
  while (auto note = planner_.take()) {
    switch (note->kind) {
      case PlannerNote::Kind::kBegin:
        begin(*note);
        planner_.give_back(std::move(note));
        break;
      case PlannerNote::Kind::kPushed:
        known_[note->step] = std::move(note);
        break;
      case PlannerNote::Kind::kPlanned:
        plan_ = std::move(note);
        return true;
    }
  }
  return false;
}

void LiveWindows::begin(PlannerNote& note) {
  if (begun_++ == 0) {
    const cache::PolicyContext& context = *planner_.context();
    const std::size_t rows = std::clamp<std::size_t>(context.halo.size(), 1024, kMostRows);
    auto observer = Observer::create({.batches = options_.window,
                                      .steps_total = options_.steps,
                                      .owners = narrow<std::uint32_t>(options_.owners.size() - 1),
                                      .self = options_.self,
                                      .slots = context.capacity,
                                      .rows = rows,
                                      .follow = rows > kFollowAll ? 8U : 1U,
                                      .windows = 2,
                                      .host = host_.get()});
    RUDDER_CHECK(observer.ok(), "an observer's options are made to fit");
    observer_ = std::move(observer).value();
  } else {
    observer_->end_window();
    Window half;
    static_cast<void>(observer_->ring().take(half));
    dropped_ += (note.step - first_) / options_.window;
  }
  forget_before(note.step);
  twin_ = std::move(note.twin);
  first_ = next_ = note.step;
  window_ = FinishedWindow{};
  compute_seconds_.clear();
  all_reduce_seconds_.clear();
  averaged_.clear();
  static_cast<void>(world_.end_window());
}

bool LiveWindows::take_trained() {
  TrainedNote note;
  while (trained_.pop(note)) {
    if (note.rebase || note.step < plan_->step) {
      traffic_ = note.batch.traffic;
      continue;
    }
    note_ = note;
    return true;
  }
  return false;
}

std::optional<FinishedWindow> LiveWindows::next() {
  while ((plan_ || take_plan()) && (note_ || take_trained())) {
    if (note_->step < plan_->step) {
      traffic_ = note_->batch.traffic;
      note_.reset();
      continue;
    }
    const bool matches = note_->step == plan_->step;
    merge(matches ? &*note_ : nullptr);
    if (matches) {
      note_.reset();
    }
    if (next_ - first_ == options_.window) {
      return finish();
    }
  }
  return std::nullopt;
}

std::optional<FinishedWindow> LiveWindows::rest() {
  if (next_ == first_) {
    return std::nullopt;
  }
  observer_->end_window();
  return finish();
}

/// `trained`: null when the trainer's figures of the batch were lost.
void LiveWindows::merge(const TrainedNote* trained) {
  const auto pushed = known_.find(plan_->step);
  RUDDER_CHECK(pushed != known_.end() && plan_->step == next_, "a plan of a batch that was not told");
  if (next_ == first_) {
    window_.observed = true;
    window_.action = plan_->action;
    window_.twin = std::move(twin_);
  }
  window_.observed = window_.observed && trained != nullptr;
  window_.counts += plan_->counts;
  if (trained != nullptr) {
    observe(*plan_, *pushed->second, *trained);
    window_.seconds += trained->batch.times.total();
  }
  compute_seconds_.push_back(trained != nullptr         ? trained->batch.times.compute
                             : compute_seconds_.empty() ? 0
                                                        : compute_seconds_.back());
  all_reduce_seconds_.push_back(trained != nullptr ? trained->batch.times.all_reduce : 0);
  averaged_.push_back(trained != nullptr && trained->batch.averaged);
  ++next_;
  planner_.give_back(std::move(plan_));
}

void LiveWindows::observe(const PlannerNote& plan, const PlannerNote& pushed, const TrainedNote& trained) {
  const Traffic moved = difference(trained.batch.traffic, traffic_);
  traffic_ = trained.batch.traffic;
  world_.add(trained.batch, moved, plan.counts.fetched);
  std::array<OwnerLoad, kMaxOwners> owners{};
  for (std::size_t i = 0; i < kMaxOwners; ++i) {
    owners[i] = {
        .rows = moved.owner[i].rows, .seconds = moved.owner[i].seconds, .answers = moved.owner[i].answers};
  }
  const StepId gathered = plan.step + 1 + trained.batch.ready;
  ObservedBatch batch;
  batch.step = plan.step;
  batch.times = trained.batch.times;
  batch.ready = trained.batch.ready;
  batch.waiting = static_cast<std::uint32_t>(trained.planned - std::min(trained.planned, gathered));
  batch.counts = plan.counts;
  batch.slots = plan.slots;
  batch.resident = plan.resident;
  batch.known_ahead = plan.known_ahead;
  batch.rows = pushed.rows;
  batch.sources = plan.sources;
  batch.fetch = plan.fetch;
  batch.admissions = plan.admissions;
  batch.wire_bytes = trained.batch.wire_bytes;
  batch.moving_seconds = moved.moving_seconds;
  batch.owners = std::span(owners).first(std::min(kMaxOwners, options_.owners.size() - 1));
  observer_->holds(plan.action);
  observer_->batch(batch);
}

FinishedWindow LiveWindows::finish() {
  if (!window_.observed) {
    observer_->end_window();  // the next one begins in time
  }
  Window last;
  while (observer_->ring().take(last)) {
    window_.window = last;
  }
  window_.window.sequence = first_ / options_.window;  // windows that were dropped count
  Conditions conditions = world_.end_window();
  window_.window.link_bytes_per_second = world_.moved() ? conditions.link_bytes_per_second : 0;
  conditions.memory_rows = planner_.context()->capacity;
  Accesses& accesses = window_.accesses;
  for (StepId step = first_; step < next_; ++step) {
    const auto i = static_cast<std::size_t>(step - first_);
    accesses.batches.push_back(known_.at(step)->rows);
    accesses.conditions.push_back(conditions);
    accesses.conditions.back().gradient_bytes = averaged_[i] ? world_.gradient_bytes() : 0;
    // What averaging takes beyond moving the bytes is waiting for other ranks, and no action's doing.
    const double alone = accesses.conditions.back().gradient_bytes / conditions.link_bytes_per_second;
    accesses.conditions.back().compute_seconds =
        compute_seconds_[i] + std::max(0.0, all_reduce_seconds_[i] - alone);
  }
  for (StepId step = next_; step < next_ + ahead_; ++step) {
    const auto known = known_.find(step);
    if (known == known_.end()) {
      break;  // the run's end
    }
    accesses.ahead.push_back(known->second->rows);
  }
  forget_before(next_);
  first_ = next_;
  compute_seconds_.clear();
  all_reduce_seconds_.clear();
  averaged_.clear();
  return std::exchange(window_, FinishedWindow{});
}

void LiveWindows::forget_before(StepId step) {
  while (!known_.empty() && known_.begin()->first < step) {
    planner_.give_back(std::move(known_.begin()->second));
    known_.erase(known_.begin());
  }
}

}  // namespace rudder::steer
