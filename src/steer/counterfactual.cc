// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/counterfactual.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "rudder/cache/score_settings.h"
#include "rudder/cache/steered.h"
#include "rudder/core/check.h"

namespace rudder::steer {
namespace {

/// Passes on what its buffer says just before it plans. Shared by a buffer and its copies, which plan one
/// after another.
class Hand final : public cache::Helm {
 public:
  std::optional<cache::Steer> next;

  [[nodiscard]] std::optional<cache::Steer> before(StepId /*step*/) override {
    return std::exchange(next, std::nullopt);
  }
};

constexpr std::uint32_t kHorizon = 1;  // of the planner: counts do not depend on it

}  // namespace

SlotId slots_of(const Setting& setting, SlotId capacity, std::uint64_t memory_rows) {
  if (memory_rows == 0) {
    return capacity;
  }
  const double share = setting.slot_share * static_cast<double>(memory_rows);
  return static_cast<SlotId>(std::min(static_cast<double>(capacity), share));
}

class SteeredBuffer::Impl {
 public:
  Impl(const SteeredShape& shape, const Setting& first)
      : owners(shape.owners),
        capacity(shape.context.capacity),
        setting(first),
        held({first.policy, capacity, first.lookahead, false}),
        hand(std::make_shared<Hand>()),
        planner(cache::make_steered(shape.context, settings_of(shape), held, hand.get()), capacity,
                kHorizon) {}

  explicit Impl(const LiveBuffer& live)
      : owners(live.owners),
        capacity(live.capacity),
        setting(live.setting),
        held(live.held),
        hand(std::make_shared<Hand>()),
        planner(*live.planner, hand.get()),
        pushed(live.served + live.planner->queued().size()),
        served(live.served) {}

  static cache::PolicySettings settings_of(const SteeredShape& shape) {
    cache::PolicySettings settings = shape.settings;
    settings.score_period = 0;  // replacements are decisions
    return settings;
  }

  Served serve(std::span<const std::vector<NodeId>> known, const Conditions& conditions) {
    steer(conditions);
    while (planner.wants_input()) {
      const auto position = static_cast<std::size_t>(pushed - served);
      RUDDER_CHECK(position < known.size(), "the policy wants to know batches that are not known");
      planner.push(known[position]);
      ++pushed;
    }
    Served result;
    result.moved.rows.assign(owners.size() - 1, 0);
    cache::Plan plan = planner.next();
    note(plan, result);
    if (plan.fill) {
      plan = planner.next();
      note(plan, result);
    }
    ++served;
    Setting paced = setting;
    paced.depth = depth_within(result.moved.total(), conditions);
    result.cost = clock.step(conditions, result.moved, paced);
    return result;
  }

  std::span<const NodeId> owners;
  SlotId capacity;
  Setting setting;
  cache::Steer held;
  bool replace = false;
  std::shared_ptr<Hand> hand;
  cache::Planner planner;
  StepClock clock;
  StepId pushed = 0, served = 0;
  std::deque<std::uint64_t> staged;  ///< rows of the last batches, newest last

 private:
  /// Tells the planner what holds now, if that has changed.
  void steer(const Conditions& conditions) {
    const cache::Steer wanted{setting.policy, slots_of(setting, capacity, conditions.memory_rows),
                              setting.lookahead, std::exchange(replace, false)};
    hand->next = wanted == held ? std::nullopt : std::optional(wanted);
    held = wanted;
    held.replace = false;
  }

  void note(const cache::Plan& plan, Served& result) const {
    result.counts += plan.counts;
    for (const NodeId row : plan.fetch) {
      const auto above = std::upper_bound(owners.begin(), owners.end(), row);
      RUDDER_DCHECK(above != owners.begin() && above != owners.end(), "a row that nobody owns");
      ++result.moved.rows[static_cast<std::size_t>(above - owners.begin()) - 1];
    }
  }

  /// Batches ahead whose rows fit into the memory that slots leave.
  std::uint32_t depth_within(std::uint64_t rows, const Conditions& conditions) {
    staged.push_back(rows);
    while (staged.size() > setting.depth) {
      staged.pop_front();
    }
    if (conditions.memory_rows == 0 || setting.slot_share >= 1) {
      return setting.depth;
    }
    const double room = (1 - setting.slot_share) * static_cast<double>(conditions.memory_rows);
    double taken = 0;
    std::uint32_t depth = 0;
    for (auto each = staged.rbegin(); each != staged.rend(); ++each) {
      taken += static_cast<double>(*each);
      if (taken > room) {
        break;
      }
      ++depth;
    }
    return std::max(depth, 1U);
  }
};

Result<SteeredBuffer> SteeredBuffer::create(const SteeredShape& shape, const Setting& first) {
  const cache::Steer steer{first.policy, shape.context.capacity, first.lookahead, false};
  RUDDER_TRY(cache::check_steer(steer, steer, shape.context));
  cache::PolicySettings checked = shape.settings;
  checked.score_period = 1;
  RUDDER_TRY(cache::check_score_settings(checked));
  if (shape.owners.size() < 2) {
    return Error{Errc::kInvalidArgument, "a partition book without owners"};
  }
  return SteeredBuffer(std::make_unique<Impl>(shape, first));
}

SteeredBuffer SteeredBuffer::twin_of(const LiveBuffer& live) {
  return SteeredBuffer(std::make_unique<Impl>(live));
}

SteeredBuffer::SteeredBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SteeredBuffer::SteeredBuffer(const SteeredBuffer& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
SteeredBuffer::SteeredBuffer(SteeredBuffer&&) noexcept = default;
SteeredBuffer& SteeredBuffer::operator=(SteeredBuffer&&) noexcept = default;
SteeredBuffer::~SteeredBuffer() = default;

void SteeredBuffer::apply(const Setting& setting) {
  impl_->setting = setting;
  impl_->replace = setting.replace;
}

SteeredBuffer::Served SteeredBuffer::serve(std::span<const std::vector<NodeId>> known,
                                           const Conditions& conditions) {
  RUDDER_CHECK(!known.empty(), "no batch to serve");
  return impl_->serve(known, conditions);
}

const cache::Residency& SteeredBuffer::residency() const {
  return impl_->planner.residency();
}

class Counterfactual::Impl {
 public:
  Impl(const ActionSet& set, const SteeredBuffer& start, std::size_t kept) : actions(set), horizon(kept) {
    before.push_back(start);
  }

  struct Sum {
    double seconds = 0;
    cache::Counts counts;
  };
  /// The accesses in the world of `conditions`, whose last goes on when there are more batches.
  Sum run(SteeredBuffer& buffer, const Accesses& accesses, std::span<const Conditions> conditions,
          std::size_t action) const {
    buffer.apply(actions.actions[action].setting);
    std::vector<std::vector<NodeId>> known = accesses.batches;
    known.insert(known.end(), accesses.ahead.begin(), accesses.ahead.end());
    Sum sum;
    for (std::size_t i = 0; i < accesses.batches.size(); ++i) {
      const SteeredBuffer::Served served =
          buffer.serve(std::span(known).subspan(i), conditions[std::min(i, conditions.size() - 1)]);
      sum.seconds += served.cost.seconds;
      sum.counts += served.counts;
    }
    return sum;
  }

  const ActionSet& actions;
  std::size_t horizon;
  std::deque<Accesses> windows;      ///< oldest first
  std::deque<SteeredBuffer> before;  ///< before each of the windows, and after the last
};

Counterfactual::Counterfactual(const ActionSet& actions, const SteeredBuffer& start, std::size_t horizon)
    : impl_(std::make_unique<Impl>(actions, start, horizon)) {
  RUDDER_CHECK(horizon > 0, "a horizon of no windows");
}
Counterfactual::~Counterfactual() = default;

Counterfactual::Labels Counterfactual::window_ended(Accesses accesses, std::size_t action) {
  RUDDER_CHECK(action < impl_->actions.actions.size() && !accesses.batches.empty() &&
                   accesses.batches.size() == accesses.conditions.size(),
               "a window that does not fit the actions");
  Impl& impl = *impl_;
  if (impl.windows.size() == impl.horizon) {
    impl.windows.pop_front();
    impl.before.pop_front();
  }
  impl.windows.push_back(std::move(accesses));
  const std::vector<Conditions>& present = impl.windows.back().conditions;
  Labels labels;
  SteeredBuffer after = impl.before.back();
  const Impl::Sum real = impl.run(after, impl.windows.back(), present, action);
  labels.replayed = real.counts;
  labels.replayed_seconds = real.seconds;
  impl.before.push_back(std::move(after));
  for (std::size_t each = 0; each < impl.actions.actions.size(); ++each) {
    SteeredBuffer buffer = impl.before.front();
    Impl::Sum sum;
    for (const Accesses& window : impl.windows) {
      const Impl::Sum part = impl.run(buffer, window, present, each);
      sum.seconds += part.seconds;
      sum.counts += part.counts;
    }
    labels.costs.push_back(sum.seconds);
    labels.counts.push_back(sum.counts);
  }
  return labels;
}

}  // namespace rudder::steer
