// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/counterfactual.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

#include "support/reference_cache.h"

namespace rudder::steer {
namespace {

using cache::testing_support::random_scene;
using cache::testing_support::Scene;

constexpr std::size_t kWindow = 6;
constexpr SlotId kSlots = 10;

/// A random run of whole windows, half of the remote nodes with each of two owners.
struct World {
  explicit World(std::uint64_t seed) : scene(random_scene(seed, 30, 12 * kWindow, 12)) {
    owners = {0, scene.owned, scene.owned + 15, scene.nodes};
    shape.context = scene.context(kSlots);
    shape.settings.score_stale_after = 3;
    shape.settings.score_init = "empty";
    shape.owners = owners;
    CounterRng rng({seed, 5});
    for (std::size_t step = 0; step < scene.batches.size(); ++step) {
      Conditions each;
      each.compute_seconds = 1;
      each.gradient_bytes = static_cast<double>(rng.below(2) * 10);
      each.link_bytes_per_second = 5 + static_cast<double>(rng.below(10));
      each.row_bytes = 1;
      each.memory_rows = rng.below(2) == 0 ? 0 : 8;
      conditions.push_back(each);
    }
  }

  [[nodiscard]] Accesses window(std::size_t number) const {
    const auto first = static_cast<std::ptrdiff_t>(number * kWindow);
    const auto end = first + static_cast<std::ptrdiff_t>(kWindow);
    return {{scene.batches.begin() + first, scene.batches.begin() + end},
            {conditions.begin() + first, conditions.begin() + end},
            {scene.batches.begin() + end, scene.batches.end()}};
  }
  [[nodiscard]] std::size_t windows() const { return scene.batches.size() / kWindow; }

  Scene scene;
  std::vector<NodeId> owners;
  std::vector<Conditions> conditions;
  SteeredShape shape;
};

ActionSet knobs() {
  KnobBounds bounds;
  bounds.policies = {"score", "lru", "lfu", "lookahead"};
  bounds.depths = {1, 4};
  bounds.prefetch_bytes_per_second = {0};
  bounds.slot_shares = {1, 0.5};
  const Result<ActionSet> set = knob_actions(bounds);
  EXPECT_TRUE(set.ok());
  return set.value();
}

struct Live {
  cache::Counts counts;
  double seconds = 0;
};

/// The window's batches one by one in the world of window `world_of`.
Live run(SteeredBuffer& buffer, const World& world, std::size_t number, std::size_t world_of,
         const Setting& setting) {
  buffer.apply(setting);
  Live live;
  for (std::size_t i = 0; i < kWindow; ++i) {
    const std::size_t step = number * kWindow + i;
    const SteeredBuffer::Served served =
        buffer.serve(std::span(world.scene.batches).subspan(step), world.conditions[world_of * kWindow + i]);
    EXPECT_EQ(served.moved.total(), served.counts.fetched);
    EXPECT_EQ(served.counts.requests, world.scene.batches[step].size());
    live.counts += served.counts;
    live.seconds += served.cost.seconds;
  }
  return live;
}
/// As it would run live.
Live run(SteeredBuffer& buffer, const World& world, std::size_t number, const Setting& setting) {
  return run(buffer, world, number, number, setting);
}

void expect_equal(const cache::Counts& a, const cache::Counts& b) {
  EXPECT_EQ(a.requests, b.requests);
  EXPECT_EQ(a.hits, b.hits);
  EXPECT_EQ(a.fetched, b.fetched);
  EXPECT_EQ(a.bypassed, b.bypassed);
}

TEST(Counterfactual, ReplaysWhatWasDoneToTheRowAndTheSecond) {
  for (const ActionSet& actions : {replace_actions(), knobs()}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(::testing::Message() << actions.name << " seed " << seed);
      const World world(seed);
      CounterRng rng({seed, 7});
      Result<SteeredBuffer> live = SteeredBuffer::create(world.shape, actions.actions[0].setting);
      ASSERT_TRUE(live.ok()) << live.error().message;
      Counterfactual counterfactual(actions, live.value(), 1 + seed % 3);
      for (std::size_t window = 0; window < world.windows(); ++window) {
        const std::size_t action = rng.below(actions.actions.size());
        const Live seen = run(live.value(), world, window, actions.actions[action].setting);
        const Counterfactual::Labels labels = counterfactual.window_ended(world.window(window), action);
        expect_equal(labels.replayed, seen.counts);
        EXPECT_DOUBLE_EQ(labels.replayed_seconds, seen.seconds);
        ASSERT_EQ(labels.costs.size(), actions.actions.size());
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST(Counterfactual, ChargesEachActionAsIfItHadHeldForTheWholeHorizonInTheWorldOfNow) {
  const ActionSet actions = knobs();
  constexpr std::size_t kHorizon = 3;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const World world(seed);
    CounterRng rng({seed, 8});
    Result<SteeredBuffer> live = SteeredBuffer::create(world.shape, actions.actions[0].setting);
    ASSERT_TRUE(live.ok());
    Counterfactual counterfactual(actions, live.value(), kHorizon);
    std::vector<SteeredBuffer> before;
    for (std::size_t window = 0; window < world.windows(); ++window) {
      before.push_back(live.value());
      const std::size_t action = rng.below(actions.actions.size());
      run(live.value(), world, window, actions.actions[action].setting);
      const Counterfactual::Labels labels = counterfactual.window_ended(world.window(window), action);
      const std::size_t first = window + 1 < kHorizon ? 0 : window + 1 - kHorizon;
      for (std::size_t each = 0; each < actions.actions.size(); ++each) {
        SteeredBuffer literal = before[first];
        double seconds = 0;
        cache::Counts counts;
        for (std::size_t again = first; again <= window; ++again) {
          const Live part = run(literal, world, again, window, actions.actions[each].setting);
          seconds += part.seconds;
          counts += part.counts;
        }
        ASSERT_DOUBLE_EQ(labels.costs[each], seconds) << "seed " << seed << " window " << window;
        expect_equal(labels.counts[each], counts);
      }
    }
  }
}

TEST(SteeredBuffer, AHalfOfTheMemoryForStagedRowsLimitsTheDepth) {
  World world(1);
  Setting setting;
  setting.policy = "lru";
  setting.slot_share = 0.5;
  setting.depth = 8;
  Result<SteeredBuffer> buffer = SteeredBuffer::create(world.shape, setting);
  ASSERT_TRUE(buffer.ok());
  Conditions conditions = world.conditions[0];
  conditions.memory_rows = 8;
  for (std::size_t step = 0; step < 30; ++step) {
    static_cast<void>(buffer.value().serve(std::span(world.scene.batches).subspan(step, 1), conditions));
    EXPECT_LE(buffer.value().residency().size(), 4U);
  }
  conditions.memory_rows = 20;
  static_cast<void>(buffer.value().serve(std::span(world.scene.batches).subspan(30, 1), conditions));
  EXPECT_EQ(buffer.value().residency().capacity(), 10U);
}

TEST(SteeredBuffer, RefusesPoliciesAndSettingsThatCannotRun) {
  World world(2);
  Setting setting;
  setting.policy = "min";
  EXPECT_FALSE(SteeredBuffer::create(world.shape, setting).ok());
  setting.policy = "score";
  world.shape.settings.score_alpha = 2;
  EXPECT_FALSE(SteeredBuffer::create(world.shape, setting).ok());
  world.shape.settings.score_alpha = 0.05;
  world.shape.owners = {};
  EXPECT_FALSE(SteeredBuffer::create(world.shape, setting).ok());
}

}  // namespace
}  // namespace rudder::steer
