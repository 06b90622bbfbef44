// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/steered.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::make_policy;
using testing_support::plan_run;
using testing_support::Push;
using testing_support::random_scene;
using testing_support::Scene;

/// Answers by step.
class Table final : public Helm {
 public:
  std::map<StepId, Steer> steers;
  std::vector<StepId> asked;

  [[nodiscard]] std::optional<Steer> before(StepId step) override {
    asked.push_back(step);
    const auto found = steers.find(step);
    return found == steers.end() ? std::nullopt : std::optional(found->second);
  }
};

std::vector<std::string> adopting() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policy_table()) {
    if (info.adopts) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

Steer random_steer(CounterRng& rng, SlotId capacity) {
  const std::vector<std::string> names = adopting();
  Steer steer;
  steer.policy = names[rng.below(names.size())];
  steer.slots = static_cast<SlotId>(rng.below(capacity + 1U));
  steer.lookahead = static_cast<std::uint32_t>(1 + rng.below(6));
  steer.replace = rng.below(2) == 0;
  return steer;
}

PolicySettings steered_settings() {
  PolicySettings settings;
  settings.score_period = 0;
  settings.score_stale_after = 2;
  return settings;
}

bool equal(const std::vector<Plan>& a, const std::vector<Plan>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Plan& x, const Plan& y) {
    return x.step == y.step && x.rows == y.rows && x.fetch == y.fetch && x.prompt == y.prompt &&
           x.counts.hits == y.counts.hits && x.counts.bypassed == y.counts.bypassed &&
           x.admissions.size() == y.admissions.size();
  });
}

TEST(Steered, GivesPlansThatALiteralMachineCanCarryOutWhateverChanges) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    CounterRng rng({seed, 21});
    const Scene scene = random_scene(seed, 24, 24, 12);
    const auto capacity = static_cast<SlotId>(1 + rng.below(16));
    Table helm;
    const Steer first = random_steer(rng, capacity);
    for (StepId step = 0; step < scene.batches.size(); ++step) {
      if (rng.below(3) == 0) {
        helm.steers[step] = random_steer(rng, capacity);
        ASSERT_TRUE(check_steer(helm.steers[step], first, scene.context(capacity)).ok());
      }
    }
    const auto plans = [&](Push push) {
      return plan_run(scene, make_steered(scene.context(capacity), steered_settings(), first, &helm),
                      capacity, 1 + static_cast<std::uint32_t>(seed % 4), push);
    };
    const std::vector<Plan> lazy = plans(Push::kLazy);
    ASSERT_FALSE(HasFailure());
    ASSERT_TRUE(equal(lazy, plans(Push::kEager)));
  }
}

TEST(Steered, IsThePlainPolicyUntilSomethingChanges) {
  for (const std::string& name : adopting()) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Scene scene = random_scene(seed, 24, 24, 12);
      const auto capacity = static_cast<SlotId>(1 + seed % 12);
      PolicySettings settings;
      settings.score_period = 3;
      settings.max_lookahead = 4;
      Table helm;
      const Steer first{name, capacity, 4, false};
      const std::vector<Plan> plain =
          plan_run(scene, make_policy(name, scene.context(capacity), settings), capacity, 2);
      helm.steers[5] = first;  // says what holds already
      const std::vector<Plan> steered =
          plan_run(scene, make_steered(scene.context(capacity), settings, first, &helm), capacity, 2);
      ASSERT_TRUE(equal(plain, steered)) << name << " seed " << seed;
      ASSERT_EQ(helm.asked.size(), scene.batches.size()) << "each batch asks once";
    }
  }
}

TEST(Steered, KeepsRowsAcrossAChangeOfPolicyAndDropsThoseBeyondASmallerSize) {
  Scene scene = random_scene(1, 24, 1, 1);
  scene.owned = 0;
  scene.batches = {{1, 2, 3, 4}, {5}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}};
  Table helm;
  helm.steers[1] = Steer{"lfu", 6, 64, false};
  helm.steers[3] = Steer{"lfu", 3, 64, false};
  const std::vector<Plan> plans = plan_run(
      scene, make_steered(scene.context(6), steered_settings(), Steer{"lru", 6, 64, false}, &helm), 6);
  EXPECT_EQ(plans[1].counts.hits, 0U);
  EXPECT_EQ(plans[2].counts.hits, 5U) << "rows 1 to 4 lived on under the new policy";
  EXPECT_EQ(plans[3].counts.hits, 3U) << "slots 0 to 2 are left";
}

TEST(Steered, LfuForgetsNoCountsWhenItsSizeChanges) {
  Scene scene = random_scene(1, 24, 1, 1);
  scene.owned = 0;
  scene.batches = {{1, 2, 3}, {1, 2}, {1, 2}, {4}, {5}, {1, 2, 5}};
  Table helm;
  helm.steers[3] = Steer{"lfu", 4, 64, false};
  helm.steers[4] = Steer{"lfu", 3, 64, false};
  const std::vector<Plan> plans = plan_run(
      scene, make_steered(scene.context(4), steered_settings(), Steer{"lfu", 3, 64, false}, &helm), 4);
  // Row 4 took the fourth slot, which went again; of rows 1 to 3, row 3 was used least often.
  EXPECT_EQ(plans[5].counts.hits, 3U);
}

TEST(Steered, ReplacesWhenToldAndOnlyThen) {
  Scene scene = random_scene(1, 24, 1, 1);
  scene.owned = 0;
  scene.batches.assign(12, {1, 2});
  for (std::size_t step = 4; step < scene.batches.size(); ++step) {
    scene.batches[step] = {3, 4};
  }
  PolicySettings settings = steered_settings();
  settings.score_init = "empty";
  const Steer first{"score", 2, 64, false};
  Table helm;
  Counts without;
  plan_run(scene, make_steered(scene.context(2), settings, first, &helm), 2, 1, Push::kLazy, &without);
  EXPECT_EQ(without.fetched, 2U + 8 * 2U) << "rows 1 and 2 stay for ever";
  helm.steers[7] = Steer{"score", 2, 64, true};
  Counts with;
  plan_run(scene, make_steered(scene.context(2), settings, first, &helm), 2, 1, Push::kLazy, &with);
  EXPECT_EQ(with.fetched, 2U + 4 * 2U) << "batches 4 to 7 miss, then 3 and 4 are kept";
}

TEST(Steered, RefusesWhatCannotBeDone) {
  const Scene scene = random_scene(1, 24, 4, 4);
  const Steer first{"score", 4, 64, false};
  const auto refused = [&](const Steer& steer) {
    const Status status = check_steer(steer, first, scene.context(8));
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_NE(refused({"minn", 4, 64, false}).find("unknown"), std::string::npos)
      << refused({"minn", 4, 64, false});
  EXPECT_NE(refused({"min", 4, 64, false}).find("needs the whole trace"), std::string::npos);
  EXPECT_NE(refused({"degree", 4, 64, false}).find("cannot take over"), std::string::npos);
  EXPECT_NE(refused({"score", 9, 64, false}).find("9 slots"), std::string::npos);
  EXPECT_EQ(refused(first), "");
  EXPECT_TRUE(check_steer({"degree", 4, 64, false}, {"degree", 4, 64, false}, scene.context(8)).ok())
      << "what holds already may go on";
}

}  // namespace
}  // namespace rudder::cache
