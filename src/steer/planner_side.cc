// SPDX-License-Identifier: Apache-2.0
#include "steer/planner_side.h"

#include <algorithm>
#include <utility>

namespace rudder::steer {
namespace {

/// Notes of so many windows of batches, two a batch, and of what is known and planned beyond them.
std::size_t notes_that_wait(const PilotOptions& options) {
  return 2 * (options.backlog * options.window + options.depth) + 256;
}

bool looks_ahead(const Action& action) {
  return action.setting.policy == "lookahead";
}

}  // namespace

std::size_t PlannerNote::bytes() const noexcept {
  return rows.size() * sizeof(NodeId) + sources.size() * sizeof(cache::RowSource) +
         fetch.size() * sizeof(NodeId) + admissions.size() * sizeof(cache::Admission);
}

PlannerSide::PlannerSide(const ActionSet& actions, const PilotOptions& options, Wakeup& wakeup)
    : actions_(actions),
      options_(options),
      wakeup_(wakeup),
      notes_(notes_that_wait(options)),
      spare_(notes_that_wait(options)),
      action_(actions.fallback) {}

cache::Steer PlannerSide::steer_of(std::size_t action) const {
  const Setting& setting = actions_.actions[action].setting;
  return {setting.policy, slots_of(setting, capacity_, capacity_), setting.lookahead, setting.replace};
}

cache::SteerTerms PlannerSide::terms(SlotId slots, const cache::PolicySettings& settings) const {
  const Setting& first = actions_.actions[actions_.fallback].setting;
  cache::SteerTerms terms;
  terms.first = {first.policy, slots_of(first, slots, slots), first.lookahead, false};
  terms.settings = settings;
  for (const Action& action : actions_.actions) {
    if (std::find(terms.policies.begin(), terms.policies.end(), action.setting.policy) ==
        terms.policies.end()) {
      terms.policies.push_back(action.setting.policy);
    }
    terms.ahead = std::max(terms.ahead, looks_ahead(action) ? action.setting.lookahead : 0);
    if (action.setting.replace) {
      terms.settings.score_period = 0;  // replacements are decisions
    }
  }
  return terms;
}

Status PlannerSide::begin(const cache::Planner& planner,
                          std::shared_ptr<const cache::PolicyContext> context) {
  context_ = std::move(context);
  capacity_ = context_->capacity;
  held_ = steer_of(action_);
  held_.replace = false;
  for (std::size_t action = 0; action < actions_.actions.size(); ++action) {
    const Status possible = cache::check_steer(steer_of(action), held_, *context_);
    if (!possible.ok()) {
      return possible.error().in("action " + actions_.actions[action].name);
    }
  }
  send_twin(planner, 0);
  return {};
}

std::unique_ptr<PlannerNote> PlannerSide::fresh() {
  std::unique_ptr<PlannerNote> note;
  if (!spare_.pop(note)) {
    note = std::make_unique<PlannerNote>();
  }
  return note;
}

bool PlannerSide::send(std::unique_ptr<PlannerNote> note) {
  const std::size_t bytes = note->bytes();
  // A figure to bound memory by: relaxed.
  if (waiting_bytes_.load(std::memory_order_relaxed) + bytes > options_.backlog_bytes || !notes_.push(note)) {
    return false;
  }
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  wakeup_.call();
  return true;
}

void PlannerSide::send_twin(const cache::Planner& planner, StepId step) {
  auto note = fresh();
  *note = PlannerNote{};
  note->kind = PlannerNote::Kind::kBegin;
  note->step = step;
  note->twin =
      std::make_unique<SteeredBuffer>(SteeredBuffer::twin_of({.planner = &planner,
                                                              .held = held_,
                                                              .setting = actions_.actions[action_].setting,
                                                              .capacity = capacity_,
                                                              .served = step,
                                                              .owners = options_.owners}));
  lost_ = !send(std::move(note));
  StepId next = step;
  for (const std::vector<NodeId>& rows : planner.queued()) {
    pushed(next++, rows);
  }
}

void PlannerSide::pushed(StepId step, std::span<const NodeId> rows) {
  if (lost_) {
    return;
  }
  auto note = fresh();
  note->kind = PlannerNote::Kind::kPushed;
  note->step = step;
  note->rows.assign(rows.begin(), rows.end());
  note->sources.clear();
  note->fetch.clear();
  note->admissions.clear();
  lost_ = !send(std::move(note));
}

void PlannerSide::planned(const cache::Plan& plan, const cache::Planner& planner) {
  if (plan.fill) {
    fill_ = plan.counts;
    return;
  }
  planned_.store(plan.step + 1, std::memory_order_relaxed);
  if (!lost_) {
    auto note = fresh();
    note->kind = PlannerNote::Kind::kPlanned;
    note->step = plan.step;
    note->action = action_;
    note->counts = plan.counts;
    note->counts += std::exchange(fill_, {});
    note->slots = planner.residency().capacity();
    note->resident = planner.residency().size();
    note->known_ahead = planner.queued().size();
    note->rows.clear();
    note->sources.assign(plan.sources.begin(), plan.sources.end());
    note->fetch.assign(plan.fetch.begin(), plan.fetch.end());
    note->admissions.assign(plan.admissions.begin(), plan.admissions.end());
    lost_ = !send(std::move(note));
  } else if ((plan.step + 1) % options_.window == 0 && notes_.size() == 0) {
    fill_ = {};
    send_twin(planner, plan.step + 1);
  }
}

std::optional<cache::Steer> PlannerSide::before(StepId step) {
  if (step % options_.window != 0) {
    return std::nullopt;
  }
  if (options_.synchronous && step > 0 && !lost_) {
    wait_for_settlement(step / options_.window - 1);
  }
  choose(step);
  const cache::Steer wanted = steer_of(action_);
  if (wanted == held_) {
    return std::nullopt;
  }
  held_ = wanted;
  held_.replace = false;
  return wanted;
}

void PlannerSide::choose(StepId step) {
  if (step == 0) {
    return;
  }
  const std::uint64_t published = published_.load(std::memory_order_acquire);  // publish() was before
  const std::uint64_t settlement = published / kMaxActions;
  const std::size_t before = action_;
  if (settlement == taken_) {
    action_ = actions_.resting(action_);
  } else {
    action_ = static_cast<std::size_t>(published % kMaxActions);
    const std::uint64_t publishings = publishings_.load(std::memory_order_relaxed);
    const std::uint64_t seen = seen_publishings_.exchange(publishings, std::memory_order_relaxed);
    overtaken_.fetch_add(publishings - seen - 1, std::memory_order_relaxed);
    taken_ = settlement;
  }
  if (action_ != before || actions_.actions[action_].setting.replace) {
    changes_.fetch_add(1, std::memory_order_relaxed);
  }
}

cache::Pace PlannerSide::pace() const {
  const Setting& setting = actions_.actions[action_].setting;
  cache::Pace pace{.depth = std::min(setting.depth, options_.depth),
                   .bytes_per_second = setting.prefetch_bytes_per_second};
  if (setting.slot_share < 1) {
    pace.staged_rows = capacity_ - slots_of(setting, capacity_, capacity_);
  }
  return pace;
}

void PlannerSide::wait_for_settlement(std::uint64_t sequence) {
  const TimePoint begin = steady_clock().now();
  std::unique_lock lock(mutex_);
  const auto is_settled = [&] { return published_.load(std::memory_order_acquire) / kMaxActions > sequence; };
  settled_.wait_until(lock, begin + options_.patience, [&] { return stopped_ || is_settled(); });
  waits_.fetch_add(1, std::memory_order_relaxed);
  overdue_.fetch_add(is_settled() ? 0 : 1, std::memory_order_relaxed);
  wait_seconds_.fetch_add(to_seconds(steady_clock().now() - begin), std::memory_order_relaxed);
}

PlannerTotals PlannerSide::totals() const noexcept {
  return {.changes = changes_.load(std::memory_order_relaxed),
          .overtaken = overtaken_.load(std::memory_order_relaxed),
          .late = publishings_.load(std::memory_order_relaxed) -
                  seen_publishings_.load(std::memory_order_relaxed),
          .waits = waits_.load(std::memory_order_relaxed),
          .overdue = overdue_.load(std::memory_order_relaxed),
          .wait_seconds = wait_seconds_.load(std::memory_order_relaxed)};
}

std::unique_ptr<PlannerNote> PlannerSide::take() {
  std::unique_ptr<PlannerNote> note;
  if (!notes_.pop(note)) {
    return nullptr;
  }
  return note;
}

void PlannerSide::give_back(std::unique_ptr<PlannerNote> note) {
  waiting_bytes_.fetch_sub(note->bytes(), std::memory_order_relaxed);
  // Without room it goes.
  static_cast<void>(spare_.push(note));
}

void PlannerSide::publish(std::uint64_t sequence, std::size_t action) {
  {
    const std::lock_guard lock(mutex_);
    publishings_.fetch_add(1, std::memory_order_relaxed);  // seen with the next one
    published_.store((sequence + 1) * kMaxActions + action, std::memory_order_release);
  }
  settled_.notify_all();
}

void PlannerSide::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  settled_.notify_all();
}

}  // namespace rudder::steer
