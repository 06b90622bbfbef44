// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/planner.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "rudder/cache/steered.h"
#include "rudder/core/check.h"

namespace rudder::cache {
namespace {

/// The rows fetched for the last `plans` plans, each with the newest plan that fetched it.
class RecentFetches {
 public:
  explicit RecentFetches(std::size_t plans) : history_(plans), newest_(0) {}

  [[nodiscard]] bool contains(NodeId row) const { return !history_.empty() && newest_.find(row) != kNoSlot; }

  /// Adds one plan and forgets the oldest.
  void add(std::span<const NodeId> fetch) {
    if (history_.empty()) {
      return;
    }
    std::vector<NodeId>& oldest = history_[place_];
    for (const NodeId row : oldest) {
      if (newest_.find(row) == place_) {
        newest_.erase(row);
      }
    }
    oldest.assign(fetch.begin(), fetch.end());
    if (newest_.size() + fetch.size() > newest_.capacity()) {
      newest_.grow(2 * (newest_.size() + fetch.size()));
    }
    for (const NodeId row : fetch) {
      newest_.exchange(row, place_);
    }
    place_ = place_ + 1 == history_.size() ? 0 : place_ + 1;
  }

 private:
  std::vector<std::vector<NodeId>> history_;  ///< ring
  SlotIndex newest_;                          ///< row to the place in history_ of the newest plan that has it
  SlotId place_ = 0;                          ///< of the oldest plan, the next one to be replaced
};

bool is_ascending(std::span<const NodeId> rows) {
  return std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
}

}  // namespace

class Planner::Impl {
 public:
  explicit Impl(std::uint32_t horizon) : recent(horizon > 1 ? horizon - 1 : 0) {}

  std::deque<std::vector<NodeId>> queue;  ///< pushed and not served; front is batch `next`
  StepId next = 0;
  StepId revealed = 0;
  bool finished = false;
  bool started = false;
  bool fill_pending = false;
  RecentFetches recent;
  // Scratch of one plan, kept for its memory.
  std::vector<SlotId> slots;          ///< of the batch's rows, before serving
  std::vector<NodeId> wanted;         ///< rows to fetch, ascending
  std::vector<SlotId> kept;           ///< parallel to wanted: slot after serving, or kNoSlot
  std::vector<std::uint32_t> staged;  ///< parallel to wanted: position in Plan::fetch
  std::vector<NodeId> extras;
  std::vector<NodeId> left;
  std::vector<NodeId> deferred;

  [[nodiscard]] StepId pushed() const { return next + queue.size(); }

  /// Orders `wanted` into plan.fetch (prompt, then deferred), notes the positions in `staged`, lists the
  /// admissions.
  void split(Plan& plan) {
    plan.fetch.reserve(wanted.size());
    staged.resize(wanted.size());
    deferred.clear();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (recent.contains(wanted[i])) {
        staged[i] = narrow<std::uint32_t>(deferred.size()) | kDeferred;
        deferred.push_back(wanted[i]);
      } else {
        staged[i] = narrow<std::uint32_t>(plan.fetch.size());
        plan.fetch.push_back(wanted[i]);
      }
    }
    plan.prompt = narrow<std::uint32_t>(plan.fetch.size());
    plan.fetch.insert(plan.fetch.end(), deferred.begin(), deferred.end());
    RUDDER_CHECK(plan.fetch.size() < kDeferred, "a batch with 2^31 remote rows");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if ((staged[i] & kDeferred) != 0) {
        staged[i] = (staged[i] & ~kDeferred) + plan.prompt;
      }
      if (kept[i] != kNoSlot) {
        plan.admissions.push_back({staged[i], kept[i]});
      }
    }
  }

 private:
  static constexpr std::uint32_t kDeferred = std::uint32_t{1} << 31;
};

Planner::Planner(std::unique_ptr<Policy> policy, SlotId capacity, std::uint32_t horizon)
    : policy_(std::move(policy)), residency_(capacity), impl_(std::make_unique<Impl>(horizon)) {}

Planner::Planner(const Planner& other)
    : policy_(other.policy_->clone()),
      residency_(other.residency_),
      totals_(other.totals_),
      impl_(std::make_unique<Impl>(*other.impl_)) {}

Planner::Planner(const Planner& other, Helm* helm)
    : policy_(clone_steered(*other.policy_, helm)),
      residency_(other.residency_),
      totals_(other.totals_),
      impl_(std::make_unique<Impl>(*other.impl_)) {}

Planner::~Planner() = default;

const std::deque<std::vector<NodeId>>& Planner::queued() const noexcept {
  return impl_->queue;
}

/// True when the policy may serve the front batch (or start) now.
bool Planner::ready() const {
  const Impl& impl = *impl_;
  if (impl.queue.empty() || impl.revealed == impl.next) {
    return false;
  }
  return (impl.finished && impl.revealed == impl.pushed()) || !policy_->wants_more();
}

void Planner::reveal_wanted() {
  Impl& impl = *impl_;
  while (impl.revealed < impl.pushed() && (impl.revealed == impl.next || policy_->wants_more())) {
    const std::vector<NodeId>& rows = impl.queue[static_cast<std::size_t>(impl.revealed - impl.next)];
    policy_->reveal(impl.revealed, rows);
    ++impl.revealed;
  }
}

/// Does all that what was pushed allows, short of serving.
void Planner::settle() {
  reveal_wanted();
  if (!impl_->started && ready()) {
    impl_->started = true;
    policy_->start(residency_);
    impl_->fill_pending = !residency_.touched_.empty();
    reveal_wanted();
  }
}

bool Planner::wants_input() const {
  return !impl_->finished && !impl_->fill_pending && !ready();
}

void Planner::push(std::vector<NodeId> rows) {
  RUDDER_CHECK(!impl_->finished, "push() after finish()");
  RUDDER_CHECK(is_ascending(rows) && (rows.empty() || rows.front() >= 0),
               "a batch's remote rows must be ascending, distinct and not negative");
  impl_->queue.push_back(std::move(rows));
  settle();
}

void Planner::finish() {
  impl_->finished = true;
  settle();
}

bool Planner::done() const {
  return impl_->finished && impl_->queue.empty();
}

Plan Planner::next() {
  RUDDER_CHECK(!wants_input() && !done(), "next() needs a batch");
  Impl& impl = *impl_;
  Plan plan;
  if (impl.fill_pending) {
    impl.fill_pending = false;
    plan = make_plan({}, {});
    plan.fill = true;
  } else {
    std::vector<NodeId> rows = std::move(impl.queue.front());
    impl.queue.pop_front();
    policy_->prepare(impl.next, residency_);
    residency_.forget_touched();
    impl.slots.resize(rows.size());
    residency_.find_many(rows, impl.slots);
    policy_->serve(Request{impl.next, rows, impl.slots}, residency_);
    plan = make_plan(std::move(rows), impl.slots);
    plan.step = impl.next++;
  }
  residency_.forget_touched();
  impl.recent.add(plan.fetch);
  totals_ += plan.counts;
  settle();
  return plan;
}

/// Rows that the policy placed although the batch did not miss them, into impl_->extras.
void Planner::collect_extras(std::span<const NodeId> rows, std::span<const SlotId> slots) {
  std::vector<NodeId>& left = impl_->left;
  impl_->extras.clear();
  left.assign(residency_.before_.begin(), residency_.before_.end());
  std::sort(left.begin(), left.end());
  for (std::size_t i = 0; i < residency_.touched_.size(); ++i) {
    const NodeId row = residency_.rows_[residency_.touched_[i]];
    if (row == kNoNode || row == residency_.before_[i]) {
      continue;
    }
    RUDDER_CHECK(!std::binary_search(left.begin(), left.end(), row),
                 "a policy moved a resident row to another slot");
    const auto at = std::lower_bound(rows.begin(), rows.end(), row);
    const bool missed =
        at != rows.end() && *at == row && slots[static_cast<std::size_t>(at - rows.begin())] == kNoSlot;
    if (!missed) {
      impl_->extras.push_back(row);
    }
  }
}

/// Compares the buffer before and after the policy's turn. `slots` as in Request.
Plan Planner::make_plan(std::vector<NodeId> rows, std::span<const SlotId> slots) {
  Impl& impl = *impl_;
  impl.wanted.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (slots[i] == kNoSlot) {
      impl.wanted.push_back(rows[i]);
    }
  }
  impl.kept.resize(impl.wanted.size());
  residency_.find_many(impl.wanted, impl.kept);
  const std::size_t misses = impl.wanted.size();
  const auto bypassed = static_cast<std::size_t>(std::count(impl.kept.begin(), impl.kept.end(), kNoSlot));
  if (count_placed() != misses - bypassed) {
    collect_extras(rows, slots);
    impl.wanted.insert(impl.wanted.end(), impl.extras.begin(), impl.extras.end());
    std::sort(impl.wanted.begin(), impl.wanted.end());
    impl.kept.resize(impl.wanted.size());
    residency_.find_many(impl.wanted, impl.kept);
  }

  Plan plan;
  plan.counts.requests = rows.size();
  plan.counts.hits = rows.size() - misses;
  plan.counts.fetched = impl.wanted.size();
  plan.counts.bypassed = bypassed;
  impl.split(plan);
  plan.sources.reserve(rows.size());
  for (std::size_t i = 0, fetched = 0; i < rows.size(); ++i) {
    if (slots[i] != kNoSlot) {
      plan.sources.push_back({slots[i], false});
      continue;
    }
    while (impl.wanted[fetched] != rows[i]) {
      ++fetched;
    }
    plan.sources.push_back({impl.staged[fetched], true});
  }
  plan.rows = std::move(rows);
  return plan;
}

/// Slots that hold another row than at the last plan.
std::size_t Planner::count_placed() const {
  std::size_t placed = 0;
  for (std::size_t i = 0; i < residency_.touched_.size(); ++i) {
    const NodeId row = residency_.rows_[residency_.touched_[i]];
    placed += row != kNoNode && row != residency_.before_[i] ? 1U : 0U;
  }
  return placed;
}

}  // namespace rudder::cache
