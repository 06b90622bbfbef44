// SPDX-License-Identifier: Apache-2.0
// Expert weights: by hand, against their bound whatever the losses, and as a decider.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/decider.h"

#include "steer/deciders/fixed_share.h"
#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing_support::four_knobs;
using testing_support::hit_window;

TEST(FixedShare, WeighsAsWorkedOutByHand) {
  FixedShare experts(2, {.rate = std::log(2.0), .share = 0.2});
  EXPECT_THAT(experts.weights(), testing::ElementsAre(0.5, 0.5));
  experts.learn(std::vector<double>{1, 0});  // 1/4 : 1/2, that is 1/3 : 2/3; of each 4/5, and 1/10
  EXPECT_NEAR(experts.weights()[0], 11.0 / 30, 1e-15);
  EXPECT_NEAR(experts.weights()[1], 19.0 / 30, 1e-15);
  experts.learn(std::vector<double>{0, 0.5});  // 11 : 19 / sqrt 2
  EXPECT_NEAR(experts.weights()[0], 0.8 * 11 / (11 + 19 / std::sqrt(2.0)) + 0.1, 1e-15);
}

TEST(FixedShare, OptionsMakeTheBoundOfAPhaseLeast) {
  const auto bound = [](double actions, double phase, double rate) {  // a round's part, for ever
    const double share = 1 / phase;
    return (std::log(actions) - std::log(share) - (phase - 1) * std::log(1 - share)) / rate / phase +
           rate / 8;
  };
  for (const std::size_t actions : {2U, 5U, 16U}) {
    const auto options = FixedShare::for_phase(actions, 20);
    EXPECT_EQ(options.share, 0.05);
    const auto count = static_cast<double>(actions);
    EXPECT_LT(bound(count, 20, options.rate), bound(count, 20, options.rate * 1.05));
    EXPECT_LT(bound(count, 20, options.rate), bound(count, 20, options.rate * 0.95));
  }
}

/// Least loss of any sequence of actions with at most m changes, for m from 0.
std::vector<double> best_sequences(const std::vector<std::vector<double>>& losses, std::size_t most) {
  const std::size_t actions = losses[0].size();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // least[m][a]: of those that end in a.
  std::vector<std::vector<double>> least(most + 1, std::vector<double>(actions, 0));
  for (const std::vector<double>& round : losses) {
    for (std::size_t m = most + 1; m-- > 0;) {
      const double other = m > 0 ? *std::min_element(least[m - 1].begin(), least[m - 1].end()) : kNone;
      for (std::size_t a = 0; a < actions; ++a) {
        least[m][a] = std::min(least[m][a], other) + round[a];
      }
    }
  }
  std::vector<double> best;
  for (const std::vector<double>& row : least) {
    best.push_back(*std::min_element(row.begin(), row.end()));
  }
  return best;
}

/// Losses that an adversary who sees the weights makes up: random phases, coins, and punishment of whatever
/// weighs most.
std::vector<double> adversarial(CounterRng& rng, std::span<const double> weights, std::uint64_t style) {
  std::vector<double> losses(weights.size());
  const std::size_t heaviest =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (std::size_t a = 0; a < losses.size(); ++a) {
    switch (style) {
      case 0:
        losses[a] = rng.unit();
        break;
      case 1:
        losses[a] = a == heaviest ? 1 : 0;
        break;
      case 2:
        losses[a] = rng.unit() < weights[a] * static_cast<double>(losses.size()) / 2 ? 1 : 0;
        break;
      default:
        losses[a] = a == heaviest && rng.below(3) != 0 ? 1 : rng.unit() / 2;
    }
  }
  return losses;
}

TEST(FixedShare, StaysWithinItsBoundOnLossesMadeUpAgainstIt) {
  double closest = 0;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    CounterRng rng({seed, 41});
    const std::size_t actions = std::array<std::size_t, 4>{2, 3, 8, 16}[rng.below(4)];
    const std::size_t rounds = 50 + rng.below(400);
    const auto options = FixedShare::for_phase(actions, 8 + static_cast<double>(rng.below(60)));
    FixedShare experts(actions, options);
    std::vector<std::vector<double>> losses;
    double expected = 0;
    for (std::size_t t = 0; t < rounds; ++t) {
      const std::vector<double> round = adversarial(rng, experts.weights(), seed % 4);
      for (std::size_t a = 0; a < actions; ++a) {
        expected += experts.weights()[a] * round[a];
      }
      losses.push_back(round);
      experts.learn(round);
    }
    const std::vector<double> best = best_sequences(losses, 12);
    for (std::size_t m = 0; m < best.size(); ++m) {
      const auto changes = static_cast<double>(m);
      const auto total = static_cast<double>(rounds);
      const double bound =
          ((changes + 1) * std::log(static_cast<double>(actions)) - changes * std::log(options.share) -
           (total - changes - 1) * std::log(1 - options.share)) /
              options.rate +
          options.rate * total / 8;
      ASSERT_LE(expected - best[m], bound) << "seed " << seed << ", " << m << " changes";
      closest = std::max(closest, (expected - best[m]) / bound);
    }
  }
  std::printf("regret at most %.2f of the bound\n", closest);
  EXPECT_GT(closest, 0.2) << "losses so harmless test nothing";
}

class Hedge : public testing::Test {
 protected:
  static LabelledWindow labelled(std::uint64_t sequence, std::vector<double> costs) {
    LabelledWindow window;
    window.window = hit_window(sequence, 0.5);
    window.costs = std::move(costs);
    return window;
  }
  [[nodiscard]] std::unique_ptr<Decider> make(std::uint64_t seed = 1) const {
    return std::move(make_decider("hedge", {.actions = &actions_, .seed = seed})).value();
  }
  /// Share of each action over many draws, nothing being learned meanwhile.
  std::vector<double> shares(Decider& decider) const {
    std::vector<double> shares(actions_.actions.size());
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      shares[decider.decide(hit_window(i, 0.5), {})->action] += 1.0 / 20'000;
    }
    return shares;
  }

  ActionSet actions_ = four_knobs();
};

TEST_F(Hedge, DrawsByTheWeightsOfALiteralRecomputation) {
  const auto decider = make();
  const auto options = FixedShare::for_phase(4, 32);
  std::vector<double> weights(4, 0.25);
  double scale = 0;
  CounterRng rng({43});
  for (std::uint64_t i = 0; i < 60; ++i) {
    std::vector<double> costs;
    for (int a = 0; a < 4; ++a) {
      costs.push_back((i < 30 ? 5 : 1) * (1 + rng.unit()));
    }
    decider->learn(labelled(i, costs));
    const double least = *std::min_element(costs.begin(), costs.end());
    scale = std::max(0.99 * scale, *std::max_element(costs.begin(), costs.end()) - least);
    double sum = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      weights[a] *= std::exp(-options.rate * (costs[a] - least) / scale);
      sum += weights[a];
    }
    for (double& weight : weights) {
      weight = weight / sum * (1 - options.share) + options.share / 4;
    }
    const auto decision = decider->decide(hit_window(i, 0.5), {});
    ASSERT_NEAR(decision->confidence, weights[decision->action], 1e-12);
  }
  const std::vector<double> drawn = shares(*decider);
  for (std::size_t a = 0; a < 4; ++a) {
    EXPECT_NEAR(drawn[a], weights[a], 0.015);
  }
}

TEST_F(Hedge, TracksTheBestActionAsItChanges) {
  const auto decider = make();
  double cost = 0;
  double oracle = 0;
  double best_fixed = std::numeric_limits<double>::infinity();
  std::vector<double> fixed(4);
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::vector<double> costs(4, 1.5);
    costs[i / 100] = 1;
    cost += costs[decider->decide(hit_window(i, 0.5), {})->action];
    oracle += 1;
    for (std::size_t a = 0; a < 4; ++a) {
      fixed[a] += costs[a];
    }
    decider->learn(labelled(i, costs));
  }
  best_fixed = *std::min_element(fixed.begin(), fixed.end());
  EXPECT_LT(cost / oracle, 1.06);
  EXPECT_LT(cost, 0.8 * best_fixed);
}

TEST_F(Hedge, WindowsInWhichActionsHardlyDifferHardlyCount) {
  const auto decider = make();
  decider->learn(labelled(0, {1, 2, 2, 2}));
  const double before = shares(*decider)[0];
  decider->learn(labelled(1, {1.001, 1, 1.001, 1.001}));
  EXPECT_NEAR(shares(*decider)[0], before, 0.02);
}

TEST_F(Hedge, EqualCostsTeachNothing) {
  const auto decider = make();
  for (std::uint64_t i = 0; i < 50; ++i) {
    decider->learn(labelled(i, {3, 3, 3, 3}));
  }
  for (const double share : shares(*decider)) {
    EXPECT_NEAR(share, 0.25, 0.015);
  }
}

TEST_F(Hedge, DependsOnTheSeedAndTheWindowAlone) {
  const auto one = make(7);
  const auto same = make(7);
  const auto other = make(8);
  int differ = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::size_t action = one->decide(hit_window(i, 0.5), {})->action;
    static_cast<void>(same->decide(hit_window(i, 0.9), {}));  // asked more often
    EXPECT_EQ(same->decide(hit_window(i, 0.5), {})->action, action);
    differ += other->decide(hit_window(i, 0.5), {})->action != action ? 1 : 0;
  }
  EXPECT_GT(differ, 40);
}

}  // namespace
}  // namespace rudder::steer
