// SPDX-License-Identifier: Apache-2.0
// Each rule of the score policy alone, on cases small enough to follow by hand.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/score_settings.h"

#include "cache/policies/score.h"
#include "support/policy_driver.h"
#include "support/score_stepper.h"

namespace rudder::cache {
namespace {

using namespace testing_support;
using testing::HasSubstr;

/// One slot state by hand: capacity 2, all rows in the halo.
Stepper by_hand(const PolicySettings& settings, ScoreRules rules, SlotId capacity = 2) {
  static const std::vector<NodeId> halo = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  PolicyContext context;
  context.capacity = capacity;
  context.halo = halo;
  return {context, settings, rules};
}

TEST(Score, ARoundedThresholdNeverReplacesOverLongHorizonsTheExactOneDoes) {
  PolicySettings settings = settings_of(0.05, 150, "degree");  // 0.95^150 rounds to 0.000
  ScoreRules rules = ScoreRules::published();
  Stepper published = by_hand(settings, rules);
  rules.exact_staleness = true;
  Stepper exact = by_hand(settings, rules);
  for (int step = 0; step < 150; ++step) {
    published.serve({7});
    exact.serve({7});
  }
  EXPECT_EQ(contents(published.buffer), (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(contents(exact.buffer), (std::vector<NodeId>{1, 7}));
}

TEST(Score, ARowOfScoreOneIsStaleAfterExactlyStaleAfterUnhitBatches) {
  for (const std::uint32_t stale_after : {1U, 2U, 7U, 40U}) {
    PolicySettings settings = settings_of(0.05, 1, "degree");
    settings.score_stale_after = stale_after;
    Stepper stepper = by_hand(settings, ScoreRules(), 1);
    for (std::uint32_t step = 1; step < stale_after; ++step) {
      stepper.serve({7});
      ASSERT_EQ(stepper.buffer.row_at(0), 0) << "stale after " << stale_after << ", step " << step;
    }
    stepper.serve({0, 7});  // a hit does not count
    ASSERT_EQ(stepper.buffer.row_at(0), 0);
    stepper.serve({7});
    EXPECT_EQ(stepper.buffer.row_at(0), 7) << "stale after " << stale_after;
  }
}

TEST(Score, TheLowestScoreGoesFirst) {
  // Rows 0 and 1 are both stale at batch 6; 1 was hit less. Only one newcomer.
  PolicySettings settings = settings_of(0.05, 6, "degree");
  settings.score_stale_after = 3;
  ScoreRules rules;
  for (const bool lowest_first : {false, true}) {
    rules.lowest_first = lowest_first;
    Stepper stepper = by_hand(settings, rules);
    for (const std::vector<NodeId>& batch : Batches{{0}, {0}, {}, {}, {}, {7}}) {
      stepper.serve(batch);
    }
    EXPECT_EQ(contents(stepper.buffer),
              (lowest_first ? std::vector<NodeId>{0, 7} : std::vector<NodeId>{1, 7}));
  }
}

TEST(Score, AnEvictedRowReturnsOnlyAfterANewMiss) {
  PolicySettings settings = settings_of(0.05, 1, "degree");
  settings.score_stale_after = 2;
  for (const bool cool_down : {false, true}) {
    ScoreRules rules;
    rules.cool_down = cool_down;
    rules.age_misses = false;  // otherwise the leftover would be forgotten anyhow
    rules.bounded_extras = false;
    Stepper stepper = by_hand(settings, rules, 1);
    stepper.serve({7});
    stepper.serve({7});
    ASSERT_EQ(stepper.buffer.row_at(0), 7);
    for (int step = 0; step < 40; ++step) {
      stepper.serve({});
    }
    EXPECT_EQ(stepper.buffer.row_at(0) == 7, cool_down);
  }
}

TEST(Score, OldPopularityFadesFromMissScores) {
  // Row 7 was missed 10 times long ago, row 8 three times lately.
  PolicySettings settings = settings_of(0.05, 120, "degree");
  settings.score_stale_after = 30;
  for (const bool age_misses : {false, true}) {
    ScoreRules rules;
    rules.age_misses = age_misses;
    Stepper stepper = by_hand(settings, rules, 1);
    for (int step = 1; step <= 120; ++step) {
      stepper.serve(step <= 10   ? std::vector<NodeId>{7}
                    : step > 117 ? std::vector<NodeId>{8}
                                 : std::vector<NodeId>{});
    }
    EXPECT_EQ(stepper.buffer.row_at(0), age_misses ? 8 : 7);
  }
}

TEST(Score, RowsBeyondTheHaloMayBeKept) {
  PolicySettings settings = settings_of(0.05, 1, "degree");
  for (const bool all_rows : {false, true}) {
    ScoreRules rules;
    rules.all_rows = all_rows;
    Stepper stepper = by_hand(settings, rules, 1);
    stepper.serve({50});
    stepper.serve({50});
    EXPECT_EQ(stepper.buffer.row_at(0), all_rows ? 50 : 0);
  }
}

TEST(Score, AFreeSlotTakesAMissedRowAtOnce) {
  PolicySettings settings = settings_of(0.05, 8, "empty");
  for (const bool fill : {false, true}) {
    ScoreRules rules;
    rules.fill_free_slots = fill;
    Stepper stepper = by_hand(settings, rules, 3);
    stepper.serve({4, 5});
    EXPECT_EQ(contents(stepper.buffer), (fill ? std::vector<NodeId>{4, 5} : std::vector<NodeId>{}));
  }
}

TEST(Score, ARowMissedAndPlacedInOneBatchIsFetchedOnce) {
  PolicySettings settings = settings_of(0.05, 1, "degree");
  PolicyContext context;
  const std::vector<NodeId> halo = {0, 1};
  context.capacity = 1;
  context.halo = halo;
  const Outcome out =
      run_policy(std::make_unique<ScorePolicy>(context, settings, ScoreRules()), 1, {{7}, {7}, {7}});
  EXPECT_EQ(out.plans[0].counts.fetched, 1U);
  EXPECT_EQ(out.plans[0].counts.bypassed, 0U);
  EXPECT_EQ(out.totals.hits, 2U);
}

TEST(Score, AReplacementFetchesNoMoreOnTopThanItsBatchMissed) {
  // Ten rows gather miss scores, all slots are stale, and the batch of the replacement misses two rows.
  PolicySettings settings = settings_of(0.05, 4, "degree");
  settings.score_stale_after = 3;
  for (const bool bounded : {false, true}) {
    ScoreRules rules;
    rules.bounded_extras = bounded;
    PolicyContext context;
    std::vector<NodeId> halo(10);
    std::iota(halo.begin(), halo.end(), 0);
    context.capacity = 10;
    context.halo = halo;
    const std::vector<NodeId> ten = {20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
    const Outcome out =
        run_policy(std::make_unique<ScorePolicy>(context, settings, rules), 10, {ten, ten, ten, {28, 29}});
    EXPECT_EQ(out.plans[3].counts.fetched, bounded ? 4U : 10U);
  }
}

TEST(Score, InitModes) {
  const std::vector<NodeId> halo = {1, 3, 5, 7, 9};
  const std::vector<EdgeIndex> indptr = {0, 9, 10, 19, 24, 33, 38, 47, 48, 57, 66};  // 1:1 3:5 5:5 7:1 9:9
  PolicyContext context;
  context.capacity = 3;
  context.halo = halo;
  context.indptr = indptr;
  const auto start = [&](const char* init, std::uint64_t seed) {
    context.seed = seed;
    return contents(Stepper(context, settings_of(0.05, 8, init), ScoreRules()).buffer);
  };
  EXPECT_TRUE(start("empty", 1).empty());
  EXPECT_EQ(start("degree", 1), (std::vector<NodeId>{3, 5, 9}));
  std::vector<int> counts(10);
  constexpr int kTries = 3000;
  for (int i = 0; i < kTries; ++i) {
    const std::vector<NodeId> rows = start("random", static_cast<std::uint64_t>(i));
    ASSERT_EQ(rows.size(), 3U);
    ASSERT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
    for (const NodeId row : rows) {
      ++counts[static_cast<std::size_t>(row)];
    }
  }
  for (const NodeId row : halo) {  // 3 of 5; six standard deviations
    EXPECT_NEAR(counts[static_cast<std::size_t>(row)], 0.6 * kTries, 6 * std::sqrt(kTries * 0.24)) << row;
  }
}

TEST(Score, SettingsAreChecked) {
  const auto refusal = [](auto change) {
    PolicySettings settings;
    change(settings);
    const Status status = check_score_settings(settings);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(refusal([](PolicySettings&) {}), "accepted");
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_init = "degre"; }),
              HasSubstr("did you mean 'degree'?"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_init = "zzzzzz"; }),
              HasSubstr("known: empty, degree, random"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_period = 0; }), HasSubstr("period"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_stale_after = 0; }), HasSubstr("stale-after"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_alpha = 0.0; }), HasSubstr("not 0"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_alpha = 1.0; }), HasSubstr("not 1"));
  EXPECT_THAT(refusal([](PolicySettings& s) { s.score_alpha = std::nan(""); }), HasSubstr("not nan"));
}

}  // namespace
}  // namespace rudder::cache
