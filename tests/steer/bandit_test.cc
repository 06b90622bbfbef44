// SPDX-License-Identifier: Apache-2.0
// The bandit finds the best action, follows when it changes, and hears of nothing but what was done.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/decider.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing_support::four_knobs;
using testing_support::hit_window;

class Bandit : public testing::Test {
 protected:
  static constexpr double kOthers = std::numeric_limits<double>::quiet_NaN();  ///< must not be looked at

  [[nodiscard]] std::unique_ptr<Decider> make(std::uint64_t seed) const {
    return std::move(make_decider("bandit", {.actions = &actions_, .seed = seed})).value();
  }
  static LabelledWindow heard(std::uint64_t sequence, std::size_t action, double cost) {
    LabelledWindow labelled;
    labelled.window = hit_window(sequence, 0.5, action);
    labelled.costs.assign(4, kOthers);
    labelled.costs[action] = cost;
    return labelled;
  }
  /// Plays rounds [first, end) with those mean costs and noise; gives how often each action was taken.
  std::vector<double> play(Decider& decider, std::uint64_t first, std::uint64_t end,
                           const std::vector<double>& means, double noise, std::uint64_t seed) const {
    std::vector<double> taken(4);
    for (std::uint64_t i = first; i < end; ++i) {
      const auto decision = decider.decide(hit_window(i, 0.5), {});
      EXPECT_TRUE(decision.ok());
      CounterRng rng({seed, i, 53});
      const double normal =
          std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * std::numbers::pi * rng.unit());
      decider.learn(heard(i, decision->action, means[decision->action] + noise * normal));
      taken[decision->action] += 1 / static_cast<double>(end - first);
    }
    return taken;
  }

  ActionSet actions_ = four_knobs();
};

TEST_F(Bandit, BeginsWithTheFallback) {
  actions_.fallback = 2;
  EXPECT_EQ(make(1)->decide(hit_window(0, 0.5), {})->action, 2U);
}

TEST_F(Bandit, FindsTheBestAction) {
  for (const double noise : {0.02, 0.1}) {
    double found = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto decider = make(seed);
      static_cast<void>(play(*decider, 0, 300, {1.1, 0.9, 1.2, 1.3}, noise, seed));
      found += play(*decider, 300, 500, {1.1, 0.9, 1.2, 1.3}, noise, seed)[1] / 20;
    }
    EXPECT_GT(found, 0.85) << "noise " << noise;
  }
}

TEST_F(Bandit, FollowsWhenTheBestActionChanges) {
  double found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto decider = make(seed);
    static_cast<void>(play(*decider, 0, 400, {1.1, 0.9, 1.2, 1.3}, 0.05, seed));
    static_cast<void>(play(*decider, 400, 600, {1.1, 1.4, 1.2, 0.9}, 0.05, seed));
    found += play(*decider, 600, 800, {1.1, 1.4, 1.2, 0.9}, 0.05, seed)[3] / 20;
  }
  EXPECT_GT(found, 0.8);
}

TEST_F(Bandit, FindsAnActionThatGetsBetterThoughItsOwnStaysGood) {
  double found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto decider = make(seed);
    static_cast<void>(play(*decider, 0, 400, {1.3, 1, 1.2, 1.3}, 0.05, seed));
    static_cast<void>(play(*decider, 400, 900, {0.7, 1, 1.2, 1.3}, 0.05, seed));
    found += play(*decider, 900, 1100, {0.7, 1, 1.2, 1.3}, 0.05, seed)[0] / 20;
  }
  EXPECT_GT(found, 0.8);
}

TEST_F(Bandit, DoesNotInsistOnWhatIsNeverLetThrough) {
  const auto decider = make(3);
  std::vector<int> wanted(4);
  for (std::uint64_t i = 0; i < 400; ++i) {
    ++wanted[decider->decide(hit_window(i, 0.5), {})->action];
    decider->learn(heard(i, 0, i % 2 == 0 ? 1 : 1.1));  // the guard lets action 0 alone through
  }
  EXPECT_LT(*std::max_element(wanted.begin(), wanted.end()), 250);
}

TEST_F(Bandit, OneCostForEverIsNoTrouble) {
  const auto decider = make(4);
  static_cast<void>(play(*decider, 0, 3000, {0, 0, 0, 0}, 0, 4));
  static_cast<void>(play(*decider, 3000, 6000, {2, 2, 2, 2}, 0, 4));
  EXPECT_TRUE(decider->decide(hit_window(6000, 0.5), {}).ok());
}

TEST_F(Bandit, DependsOnTheSeedAndWhatItHeardAlone) {
  const auto one = make(5);
  const auto same = make(5);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::size_t action = one->decide(hit_window(i, 0.5), {})->action;
    static_cast<void>(same->decide(hit_window(i, 0.1), {}));
    ASSERT_EQ(same->decide(hit_window(i, 0.5), {})->action, action);
    const double cost = 1 + 0.1 * static_cast<double>((i * 7 + action) % 5);
    one->learn(heard(i, action, cost));
    same->learn(heard(i, action, cost));
  }
}

}  // namespace
}  // namespace rudder::steer
