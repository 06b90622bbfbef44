// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/guard.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

#include "steer/windows.h"

namespace rudder::steer {
namespace {

using State = Breaker::State;
using testing_support::labelled_at;
using testing_support::letters;
using testing_support::window_at;

TimePoint at(double seconds) {
  return TimePoint(from_seconds(seconds));
}

Decision decision_at(std::uint64_t sequence, std::size_t action = 0) {
  Decision decision;
  decision.sequence = sequence;
  decision.action = action;
  return decision;
}

Features random_features(CounterRng& rng) {
  Features features{};
  for (std::size_t m = 0; m < kMetrics; ++m) {
    features[m] = static_cast<float>(static_cast<double>(rng.below(3)) * metric_table()[m].high / 2);
  }
  return features;
}

TEST(DecisionCacheTest, IsALiteralSearchOfTheNewestEntries) {
  CounterRng rng({1});
  std::uint64_t found = 0;
  for (int run = 0; run < 20; ++run) {
    const double threshold = 0.5 + 0.5 * rng.unit();
    const std::uint64_t expiry = rng.below(20);
    const std::size_t size = rng.below(8);
    DecisionCache cache(threshold, expiry, size);
    std::vector<std::pair<Features, Decision>> all;
    std::uint64_t saved = 0;
    for (std::uint64_t sequence = 0; sequence < 200; ++sequence) {
      const Features features = random_features(rng);
      const Decision* expected = nullptr;
      double best = -2;
      for (std::size_t i = all.size() - std::min(all.size(), size); i < all.size(); ++i) {
        const double near = similarity(features, all[i].first);
        if (near >= threshold && near >= best && sequence - all[i].second.sequence <= expiry) {
          best = near;
          expected = &all[i].second;
        }
      }
      const Decision* const got = cache.find(features, sequence);
      ASSERT_EQ(got == nullptr, expected == nullptr);
      if (got != nullptr) {
        ASSERT_EQ(*got, *expected);
        ++saved;
      }
      ASSERT_EQ(cache.saved(), saved);
      all.emplace_back(features, decision_at(sequence, rng.below(5)));
      cache.put(all.back().first, all.back().second);
    }
    found += saved;
  }
  EXPECT_GT(found, 100U);
}

TEST(DecisionCacheTest, OfSizeZeroIsOff) {
  DecisionCache cache(-1, 1000, 0);
  const Features features = features_of(window_at(0));
  cache.put(features, decision_at(0));
  EXPECT_EQ(cache.find(features, 0), nullptr);
}

TEST(DecisionCacheTest, ForgetsWhenClearedAndKnowsNothingOfLaterWindows) {
  DecisionCache cache(0.9, 1000, 4);
  const Features features = features_of(window_at(0));
  cache.put(features, decision_at(5));
  EXPECT_EQ(cache.find(features, 4), nullptr);
  EXPECT_NE(cache.find(features, 5), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find(features, 5), nullptr);
  EXPECT_EQ(cache.saved(), 1U);
}

TEST(BreakerTest, OpensAfterFailuresInARowAndProbesAfterItsRest) {
  Breaker breaker({.failures = 3, .dropped = 8, .rest = from_seconds(5)});
  breaker.failed(at(0));
  breaker.failed(at(0));
  breaker.succeeded();
  breaker.failed(at(1));
  breaker.failed(at(1));
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_TRUE(breaker.lets_through(at(1)));
  breaker.failed(at(2));
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.openings(), 1U);
  EXPECT_FALSE(breaker.lets_through(at(6.999)));
  EXPECT_TRUE(breaker.lets_through(at(7)));
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  EXPECT_FALSE(breaker.lets_through(at(8)));  // one question only
  breaker.succeeded();
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_TRUE(breaker.lets_through(at(8)));
}

TEST(BreakerTest, RestsTwiceAsLongAfterEachFailedProbeUpToSixteenTimes) {
  Breaker breaker({.failures = 1, .dropped = 8, .rest = from_seconds(5)});
  double now = 0;
  breaker.failed(at(now));
  for (const double rests : {1, 2, 4, 8, 16, 16, 16}) {
    EXPECT_FALSE(breaker.lets_through(at(now + 5 * rests - 0.001)));
    now += 5 * rests;
    EXPECT_TRUE(breaker.lets_through(at(now))) << rests;
    breaker.failed(at(now));
  }
  EXPECT_EQ(breaker.openings(), 8U);
  now += 5 * 16;
  EXPECT_TRUE(breaker.lets_through(at(now)));
  breaker.succeeded();
  breaker.failed(at(now));  // once recovered, it rests once again
  EXPECT_TRUE(breaker.lets_through(at(now + 5)));
}

TEST(BreakerTest, OpensAfterDecisionsOfNegativeBenefitInARow) {
  Breaker breaker({.failures = 3, .dropped = 4, .rest = from_seconds(5)});
  for (int i = 0; i < 3; ++i) {
    breaker.was_dropped(at(i));
  }
  breaker.succeeded();
  for (int i = 0; i < 3; ++i) {
    breaker.was_dropped(at(i));
  }
  EXPECT_EQ(breaker.state(), State::kClosed);
  breaker.was_dropped(at(4));
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_TRUE(breaker.lets_through(at(9)));
  breaker.was_dropped(at(9));  // a probe that is dropped is no success
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_FALSE(breaker.lets_through(at(18)));
  EXPECT_TRUE(breaker.lets_through(at(19)));
}

TEST(BreakerTest, ADroppedDecisionIsAnAnswerAllTheSame) {
  Breaker breaker({.failures = 2, .dropped = 8, .rest = from_seconds(5)});
  for (int i = 0; i < 5; ++i) {
    breaker.failed(at(i));
    breaker.was_dropped(at(i));
  }
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST(BreakerTest, DoesNotListenWhileItIsOpen) {
  Breaker breaker({.failures = 1, .dropped = 1, .rest = from_seconds(5)});
  breaker.failed(at(0));
  breaker.succeeded();
  breaker.failed(at(4));
  breaker.was_dropped(at(4));
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.openings(), 1U);
  EXPECT_TRUE(breaker.lets_through(at(5)));
}

TEST(EvaluatorTest, AveragesCostsWithWeightsThatHalve) {
  CounterRng rng({2});
  for (const double half_life : {0.5, 1.0, 2.0, 7.0}) {
    const ActionSet actions = letters(4);
    Evaluator evaluator(actions, half_life);
    std::vector<std::vector<double>> windows;
    for (std::uint64_t n = 0; n < 50; ++n) {
      std::vector<double> costs;
      for (int i = 0; i < 4; ++i) {
        costs.push_back(1 + rng.unit());
      }
      windows.push_back(costs);
      evaluator.learn(labelled_at(n, costs));
      std::vector<double> means(4);
      for (std::size_t w = 0; w < windows.size(); ++w) {
        const double weight = std::pow(0.5, static_cast<double>(windows.size() - 1 - w) / half_life);
        for (std::size_t i = 0; i < 4; ++i) {
          means[i] += weight * windows[w][i];
        }
      }
      const auto least = std::min_element(means.begin(), means.end());
      EXPECT_EQ(evaluator.best(), static_cast<std::size_t>(least - means.begin()));
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(*evaluator.excess(i), means[i] / *least - 1, 1e-9);
      }
    }
  }
}

TEST(EvaluatorTest, KnowsNothingBeforeTheFirstWindow) {
  ActionSet actions = letters(3);
  actions.fallback = 2;
  const Evaluator evaluator(actions, 2);
  EXPECT_EQ(evaluator.excess(0), std::nullopt);
  EXPECT_EQ(evaluator.best(), 2U);
}

TEST(EvaluatorTest, PrefersTheFallbackAmongEquals) {
  ActionSet actions = letters(3);
  actions.fallback = 2;
  Evaluator evaluator(actions, 2);
  evaluator.learn(labelled_at(0, {1, 5, 1}));
  evaluator.learn(labelled_at(1, {3, 5, 3}));
  EXPECT_EQ(evaluator.best(), 2U);
  EXPECT_EQ(evaluator.excess(0), 0.0);
}

TEST(EvaluatorTest, LearnsNothingFromCostsThatAreNone) {
  const ActionSet actions = letters(2);
  Evaluator evaluator(actions, 2);
  evaluator.learn(labelled_at(0, {std::numeric_limits<double>::quiet_NaN(), 1}));
  evaluator.learn(labelled_at(1, {1, -1}));
  evaluator.learn(labelled_at(2, {1, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(evaluator.excess(0), std::nullopt);
  evaluator.learn(labelled_at(3, {0, 1}));
  EXPECT_EQ(*evaluator.excess(1), std::numeric_limits<double>::infinity());
}

TEST(Verdicts, HaveDistinctNames) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    EXPECT_TRUE(names.insert(name_of(static_cast<Verdict>(i))).second) << i;
  }
  EXPECT_EQ(names.count(""), 0U);
}

class Judgement : public ::testing::Test {
 protected:
  Judgement() { evaluator.learn(labelled_at(0, {1, 3, 1})); }  // excess 0, 2, 0

  Verdict verdict(const Decision& decision) const {
    return judge(decision, actions, 10, action_now, since_change, evaluator, options);
  }

  ActionSet actions = letters(3, 2);
  Evaluator evaluator{actions, 2};
  GuardOptions options;
  std::size_t action_now = 0;
  std::uint64_t since_change = 5;
};

TEST_F(Judgement, AppliesWhatNothingSpeaksAgainst) {
  EXPECT_EQ(verdict(decision_at(10, 2)), Verdict::kApplied);
  EXPECT_EQ(verdict(decision_at(10, 0)), Verdict::kUnchanged);
}

TEST_F(Judgement, DropsStaleOnesAndThoseOfTheFuture) {
  EXPECT_EQ(verdict(decision_at(6, 2)), Verdict::kApplied);
  EXPECT_EQ(verdict(decision_at(5, 2)), Verdict::kStale);
  EXPECT_EQ(verdict(decision_at(11, 2)), Verdict::kStale);
  EXPECT_EQ(verdict(decision_at(~std::uint64_t{0}, 2)), Verdict::kStale);
}

TEST_F(Judgement, DropsRepliesThatDidNotParse) {
  Decision decision = decision_at(10, 2);
  decision.valid_reply = false;
  EXPECT_EQ(verdict(decision), Verdict::kInvalidReply);
}

TEST_F(Judgement, DropsUnknownActions) {
  EXPECT_EQ(verdict(decision_at(10, 3)), Verdict::kUnknownAction);
  EXPECT_EQ(verdict(decision_at(10, ~std::size_t{0})), Verdict::kUnknownAction);
}

TEST_F(Judgement, DropsLowConfidenceAndWhatIsNone) {
  options.least_confidence = 0.6;
  Decision decision = decision_at(10, 2);
  decision.confidence = 0.6;
  EXPECT_EQ(verdict(decision), Verdict::kApplied);
  decision.confidence = 0.59;
  EXPECT_EQ(verdict(decision), Verdict::kLowConfidence);
  decision.confidence = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(verdict(decision), Verdict::kLowConfidence);
}

TEST_F(Judgement, DropsWhatCostsMoreThanTheBest) {
  EXPECT_EQ(verdict(decision_at(10, 1)), Verdict::kNegativeBenefit);
  options.tolerated_excess = 2;
  EXPECT_EQ(verdict(decision_at(10, 1)), Verdict::kApplied);
  options.tolerated_excess = 1.99;
  EXPECT_EQ(verdict(decision_at(10, 1)), Verdict::kNegativeBenefit);
  options.tolerated_excess = -1;  // off
  EXPECT_EQ(verdict(decision_at(10, 1)), Verdict::kApplied);
}

TEST_F(Judgement, DropsAHarmfulDecisionToLeaveThingsAsTheyAre) {
  action_now = 1;
  EXPECT_EQ(verdict(decision_at(10, 1)), Verdict::kNegativeBenefit);
}

TEST_F(Judgement, LetsAReplacementThroughOnlyWhereItPaysMoreThanIsTolerated) {
  const ActionSet replacing = replace_actions();
  options.tolerated_excess = 0.5;
  for (const double skip : {0.9, 1.0, 1.5, 1.6}) {
    Evaluator knows(replacing, 0);
    knows.learn(labelled_at(0, {skip, 1}));
    const bool pays = skip > 1.5;
    EXPECT_EQ(judge(decision_at(10, 1), replacing, 10, 0, 0, knows, options),
              pays ? Verdict::kApplied : Verdict::kNegativeBenefit)
        << skip;
    EXPECT_EQ(judge(decision_at(10, 0), replacing, 10, 0, 0, knows, options),
              pays ? Verdict::kNegativeBenefit : Verdict::kUnchanged)
        << skip;
  }
}

TEST_F(Judgement, LetsTheSettingCoolDownBetweenChanges) {
  since_change = 1;
  EXPECT_EQ(verdict(decision_at(10, 2)), Verdict::kCoolingDown);
  EXPECT_EQ(verdict(decision_at(10, 0)), Verdict::kUnchanged);
  since_change = 2;
  EXPECT_EQ(verdict(decision_at(10, 2)), Verdict::kApplied);
}

TEST_F(Judgement, NeverCallsReplacingOnceMoreUnchanged) {
  const ActionSet replacing = replace_actions();
  const Evaluator knows_nothing(replacing, 2);
  EXPECT_EQ(judge(decision_at(10, 1), replacing, 10, 1, 0, knows_nothing, options), Verdict::kApplied);
  EXPECT_EQ(judge(decision_at(10, 0), replacing, 10, 0, 0, knows_nothing, options), Verdict::kUnchanged);
}

/// The order of the reasons, as the header lists them: with all of them at once, repaired one by one.
TEST_F(Judgement, GivesTheFirstReasonThatHolds) {
  options.least_confidence = 0.5;
  since_change = 0;
  Decision decision = decision_at(1, 9);
  decision.valid_reply = false;
  decision.confidence = 0;
  EXPECT_EQ(verdict(decision), Verdict::kStale);
  decision.sequence = 10;
  EXPECT_EQ(verdict(decision), Verdict::kInvalidReply);
  decision.valid_reply = true;
  EXPECT_EQ(verdict(decision), Verdict::kUnknownAction);
  decision.action = 1;
  EXPECT_EQ(verdict(decision), Verdict::kLowConfidence);
  decision.confidence = 1;
  EXPECT_EQ(verdict(decision), Verdict::kNegativeBenefit);
  decision.action = 2;
  EXPECT_EQ(verdict(decision), Verdict::kCoolingDown);
  since_change = 2;
  EXPECT_EQ(verdict(decision), Verdict::kApplied);
}

}  // namespace
}  // namespace rudder::steer
