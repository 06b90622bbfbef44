// SPDX-License-Identifier: Apache-2.0
#include "cache/policies/score.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/policy_driver.h"
#include "support/reference_score.h"
#include "support/score_stepper.h"

namespace rudder::cache {
namespace {

using namespace testing_support;

std::vector<EdgeIndex> random_indptr(std::uint64_t seed, std::size_t nodes) {
  std::vector<EdgeIndex> indptr = {0};
  CounterRng rng({seed, 3});
  for (std::size_t i = 0; i < nodes; ++i) {
    indptr.push_back(indptr.back() + static_cast<EdgeIndex>(rng.below(9)));
  }
  return indptr;
}

TEST(Score, WithThePublishedRulesEqualsTheLiteralAlgorithm) {
  constexpr std::size_t kNodes = 90;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Batches batches = zipf_batches(seed, kNodes, 0.8, 120, 4 + 6 * seed);
    const std::vector<EdgeIndex> indptr = random_indptr(seed, kNodes);
    std::vector<NodeId> halo;
    for (NodeId row = 0; row < static_cast<NodeId>(kNodes); ++row) {
      if (row % 5 != 4) {  // the others are remote but not one hop away
        halo.push_back(row);
      }
    }
    for (const double alpha : {0.05, 0.005, 0.0005, 0.3}) {
      for (const std::uint32_t period : {1U, 2U, 8U, 25U, 150U}) {
        for (const char* init : {"empty", "degree", "random"}) {
          for (const SlotId capacity : {0U, 1U, 20U, 80U}) {
            SCOPED_TRACE(fmt::format("seed {} alpha {} P {} {} C {}", seed, alpha, period, init, capacity));
            PolicyContext context;
            context.capacity = capacity;
            context.seed = seed;
            context.halo = halo;
            context.indptr = indptr;
            Stepper actual(context, settings_of(alpha, period, init), ScoreRules::published());
            ReferenceScore expected(kNodes, halo, contents(actual.buffer), capacity, alpha, period,
                                    ReferenceScore::Form::kClosed);
            for (const auto& batch : batches) {
              actual.serve(batch);
              expected.serve(batch);
              ASSERT_EQ(contents(actual.buffer), expected.contents()) << "step " << actual.step;
              for (SlotId slot = 0; slot < capacity; ++slot) {
                const NodeId row = actual.buffer.row_at(slot);
                if (row != kNoNode) {
                  ASSERT_EQ(actual.policy.stale_score(slot), expected.stale_score(row)) << "row " << row;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Score, ClosedFormIsTheIteratedScore) {
  const Batches batches = zipf_batches(5, 50, 0.8, 300, 8);
  std::vector<NodeId> halo(50);
  std::iota(halo.begin(), halo.end(), 0);
  const std::vector<NodeId> initial(halo.begin(), halo.begin() + 20);
  ReferenceScore closed(50, halo, initial, 20, 0.05, 0, ReferenceScore::Form::kClosed);
  ReferenceScore iterated(50, halo, initial, 20, 0.05, 0, ReferenceScore::Form::kIterated);
  for (const auto& batch : batches) {
    closed.serve(batch);
    iterated.serve(batch);
  }
  for (const NodeId row : initial) {
    EXPECT_NEAR(closed.stale_score(row) / iterated.stale_score(row), 1.0, 1e-12) << "row " << row;
  }
}

struct Figures {
  double hit_share = 0;
  std::size_t moved = 0;    ///< rows placed in the buffer after the start
  std::size_t fetched = 0;  ///< misses and moves; a row missed and placed in one batch counts once here
  std::size_t scored = 0;
};

/// 2,000 halo rows, 200 slots, Zipf 0.8, 160 draws, 400 batches, random init.
struct Study {
  Study() : halo(2000) { std::iota(halo.begin(), halo.end(), 0); }

  [[nodiscard]] Figures policy(const PolicySettings& settings, const ScoreRules& rules) const {
    const Outcome out = run_policy(std::make_unique<ScorePolicy>(context(), settings, rules), 200, batches);
    Figures figures;
    figures.hit_share = static_cast<double>(out.totals.hits) / static_cast<double>(out.totals.requests);
    figures.fetched = out.totals.fetched - out.fill.counts.fetched;
    for (const Plan& plan : out.plans) {
      figures.moved += plan.admissions.size();
    }
    return figures;
  }
  [[nodiscard]] Figures literal(std::uint32_t period) const {
    Stepper random(context(), settings_of(0.05, 1, "random"), ScoreRules::published());
    ReferenceScore reference(2000, halo, contents(random.buffer), 200, 0.05, period,
                             ReferenceScore::Form::kIterated);
    Figures figures;
    std::size_t hits = 0;
    std::size_t misses = 0;
    for (const auto& batch : batches) {
      const ReferenceScore::Step step = reference.serve(batch);
      hits += step.hits;
      misses += step.misses;
      figures.moved += step.inserted;
      figures.scored += step.scored ? 1 : 0;
    }
    figures.hit_share = static_cast<double>(hits) / static_cast<double>(hits + misses);
    figures.fetched = misses + figures.moved;
    return figures;
  }
  [[nodiscard]] PolicyContext context() const {
    PolicyContext context;
    context.capacity = 200;
    context.halo = halo;
    return context;
  }

  Batches batches = zipf_batches(1, 2000, 0.8, 400, 160);
  std::vector<NodeId> halo;
};

std::string text_of(const Figures& figures) {
  return fmt::format("hits {:.1f} %, moved {}, fetched {}, scored {}", 100 * figures.hit_share, figures.moved,
                     figures.fetched, figures.scored);
}

TEST(Score, ReplacingEveryBatchCripplesThePublishedRulesAndNotTheCorrectedOnes) {
  const Study study;
  const Figures never = study.literal(0);
  const Figures every = study.literal(1);
  const Figures eighth = study.literal(8);
  const Figures rare = study.literal(32);
  ScoreRules two = ScoreRules::published();
  two.cool_down = true;
  two.always_score = true;
  const Figures repaired = study.policy(settings_of(0.05, 1, "random"), two);
  PolicySettings defaults;
  defaults.score_init = "random";
  const Figures product = study.policy(defaults, ScoreRules());
  defaults.score_period = 1;
  const Figures corrected = study.policy(defaults, ScoreRules());
  const std::string all =
      fmt::format("never: {}\nP=1: {}\nP=8: {}\nP=32: {}\ntwo repaired: {}\nall, P=1: {}\nproduct: {}",
                  text_of(never), text_of(every), text_of(eighth), text_of(rare), text_of(repaired),
                  text_of(corrected), text_of(product));
  RecordProperty("figures", all);
  SCOPED_TRACE(all);

  EXPECT_NEAR(never.hit_share, 0.10, 0.03);
  EXPECT_EQ(never.moved, 0U);
  // After the first batch old victims are candidates in every batch, so nothing is ever scored again.
  EXPECT_EQ(every.scored, 1U);
  EXPECT_GT(every.moved, 20U * eighth.moved);
  EXPECT_GT(every.fetched, 2U * eighth.fetched);
  EXPECT_LT(every.hit_share, 0.7 * eighth.hit_share);
  EXPECT_GT(eighth.hit_share, 0.28);
  EXPECT_NEAR(rare.hit_share, eighth.hit_share, 0.03);
  EXPECT_GT(repaired.hit_share, 0.28);
  EXPECT_LT(repaired.moved, every.moved / 5);
  EXPECT_LT(corrected.fetched, every.fetched / 2);
  EXPECT_LT(corrected.fetched, eighth.fetched);
  EXPECT_LT(product.fetched, eighth.fetched);
  EXPECT_GT(product.hit_share, eighth.hit_share);
}

}  // namespace
}  // namespace rudder::cache
