// SPDX-License-Identifier: Apache-2.0
// A live buffer and its trainer without a network, for tests of who steers them.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/cache/planner.h"
#include "rudder/cache/steered.h"
#include "rudder/core/clock.h"
#include "rudder/core/rng.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/pilot.h"

#include "support/reference_cache.h"

namespace rudder::steer::testing_support {

constexpr Duration kPatience = std::chrono::seconds(60);

/// A random run of a buffer of 12 slots whose remote rows are of three owners.
struct LiveWorld {
  explicit LiveWorld(std::uint64_t seed, std::size_t steps = 96)
      : scene(cache::testing_support::random_scene(seed, 30, steps, 12)) {
    owners = {0, scene.owned, scene.owned + 15, scene.nodes};
    settings.score_stale_after = 3;
  }
  [[nodiscard]] std::shared_ptr<const cache::PolicyContext> context() const {
    return std::make_shared<const cache::PolicyContext>(scene.context(kSlots));
  }
  static constexpr SlotId kSlots = 12;

  cache::testing_support::Scene scene;
  std::vector<NodeId> owners;
  cache::PolicySettings settings;
};

inline PilotOptions pilot_options(const LiveWorld& world, std::uint32_t window) {
  PilotOptions options;
  options.window = window;
  options.steps = world.scene.batches.size();
  options.owners = world.owners;
  options.self = 0;
  options.depth = 4;
  options.row_bytes = 16;
  options.gradient_bytes = 1000;
  options.idle_priority = false;
  options.patience = kPatience;
  // Whatever the decider says is done.
  options.controller.guard.tolerated_excess = -1;
  options.controller.breaker.dropped = ~std::uint32_t{0};
  return options;
}

/// Plans the world's batches as a host's buffer does, under whoever steers it, and trains on them `depth`
/// batches later.
class LiveRun {
 public:
  LiveRun(const LiveWorld& world, Pilot& pilot)
      : world_(world),
        pilot_(pilot),
        terms_(pilot.terms(LiveWorld::kSlots, world.settings)),
        fetched_(world.scene.batches.size()) {
    const auto context = world.context();
    planner_.emplace(cache::make_steered(*context, terms_.settings, terms_.first, &helm_), LiveWorld::kSlots,
                     1U);
    const Status begun = pilot_.begin(*planner_, context);
    EXPECT_TRUE(begun.ok()) << begun.error().message;
  }

  [[nodiscard]] std::size_t steps() const { return world_.scene.batches.size(); }
  /// Plans the next batch.
  void plan() {
    while (planner_->wants_input() || (pushed_ < steps() && pushed_ <= planned_ + terms_.ahead)) {
      if (pushed_ == steps()) {
        planner_->finish();
        continue;
      }
      pilot_.pushed(pushed_, world_.scene.batches[pushed_]);
      planner_->push(world_.scene.batches[pushed_]);
      ++pushed_;
    }
    cache::Plan plan = planner_->next();
    pilot_.planned(plan, *planner_);
    counts += plan.counts;
    if (plan.fill) {
      filled_ = plan.counts.fetched;
      this->plan();
      return;
    }
    fetched_[planned_] = plan.counts.fetched + std::exchange(filled_, 0);
    ++planned_;
  }
  /// Trains on the next batch.
  void train() {
    TrainedBatch batch;
    batch.times = {.compute = 0.01, .all_reduce = 0.002, .stall = 0.001};
    batch.averaged = true;
    batch.wire_bytes = 20 * fetched_[trained_];
    traffic_.moving_seconds += 1e-4 * static_cast<double>(fetched_[trained_]);
    traffic_.owner[1].rows += fetched_[trained_];
    traffic_.owner[1].busy_seconds += 1e-4;
    batch.traffic = traffic_;
    pilot_.trained(batch);
    ++trained_;
  }
  [[nodiscard]] std::size_t planned() const { return planned_; }
  [[nodiscard]] std::size_t trained() const { return trained_; }

  struct Answer {
    StepId step;
    std::optional<cache::Steer> steer;
  };
  std::vector<Answer> answers;  ///< of the helm, in order
  cache::Counts counts;

 private:
  /// Passes questions on and keeps the answers.
  class Helm final : public cache::Helm {
   public:
    explicit Helm(LiveRun& run) : run_(run) {}
    [[nodiscard]] std::optional<cache::Steer> before(StepId step) override {
      run_.answers.push_back({step, run_.pilot_.before(step)});
      return run_.answers.back().steer;
    }

   private:
    LiveRun& run_;
  };

  const LiveWorld& world_;
  Pilot& pilot_;
  cache::SteerTerms terms_;
  Helm helm_{*this};
  std::optional<cache::Planner> planner_;
  std::size_t pushed_ = 0, planned_ = 0, trained_ = 0;
  std::uint64_t filled_ = 0;  ///< rows of the initial fill, until the first batch
  std::vector<std::uint64_t>
      fetched_;  ///< by batch: one thread may plan while another trains on earlier ones
  Traffic traffic_;
};

/// Decides by a function; counts what it is told.
class FunctionDecider final : public Decider {
 public:
  using Choose = std::function<Result<Decision>(const Window&)>;
  explicit FunctionDecider(Choose choose) : choose_(std::move(choose)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override { return choose_(window); }
  void learn(const LabelledWindow& labelled) override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(labelled);
  }
  [[nodiscard]] std::vector<LabelledWindow> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  Choose choose_;
  std::mutex mutex_;
  std::vector<LabelledWindow> heard_;
};

/// Counts settlements.
class Settlements {
 public:
  void add() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }
  /// Waits until there have been so many; false when that takes longer than anything may.
  [[nodiscard]] bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

inline Decision decision_on(const Window& window, std::size_t action) {
  Decision decision;
  decision.sequence = window.sequence;
  decision.action = action;
  return decision;
}

/// A random action for each window, the same for the same seed.
inline FunctionDecider::Choose random_choice(std::uint64_t seed, std::size_t actions) {
  return [seed, actions](const Window& window) -> Result<Decision> {
    CounterRng rng({seed, window.sequence, 77});
    return decision_on(window, rng.below(actions));
  };
}

/// A pilot with its decider, which the pilot owns.
struct Steered {
  std::shared_ptr<Settlements> settlements = std::make_shared<Settlements>();
  FunctionDecider* decider = nullptr;
  std::unique_ptr<Pilot> pilot;
};

inline Steered make_pilot(PilotOptions options, ActionSet actions, FunctionDecider::Choose choose,
                          std::unique_ptr<Memory> memory = nullptr,
                          std::unique_ptr<llm::Model> model = nullptr) {
  PilotCrew crew;
  crew.actions = std::make_unique<const ActionSet>(std::move(actions));
  crew.memory = std::move(memory);
  crew.model = std::move(model);
  auto decider = std::make_unique<FunctionDecider>(std::move(choose));
  Steered made;
  made.decider = decider.get();
  options.on_settled = [settlements = made.settlements](const DecisionRecord&) { settlements->add(); };
  crew.decider = std::move(decider);
  auto pilot = Pilot::create(std::move(options), std::move(crew));
  EXPECT_TRUE(pilot.ok()) << pilot.error().message;
  made.pilot = std::move(pilot).value();
  return made;
}

/// Score and yes-or-no, or policies and depths that a buffer of depth 4 can do.
inline std::vector<ActionSet> live_action_sets() {
  ActionSet policies = knob_actions({{"score", "lru", "lookahead"}, {4, 1}, {0}, {1, 0.5}}).value();
  for (Action& action : policies.actions) {
    action.setting.lookahead = 5;
  }
  return {replace_actions(), std::move(policies)};
}

}  // namespace rudder::steer::testing_support
