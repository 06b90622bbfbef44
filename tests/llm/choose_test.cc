// SPDX-License-Identifier: Apache-2.0
#include "llm/choose.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::llm {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

TEST(DrawToken, ProbabilitiesAreTheSoftmaxOfWhatMayBeDrawn) {
  const std::vector<float> logits = {0, std::log(2.0F), kNever, std::log(5.0F)};
  const auto draw = draw_token(logits, 0, 0.5, 8);
  ASSERT_TRUE(draw);
  EXPECT_EQ(draw->token, 3);
  ASSERT_EQ(draw->best.size(), 3U);
  EXPECT_EQ(draw->best[0].token, 3);
  EXPECT_NEAR(draw->best[0].probability, 5.0 / 8, 1e-6);
  EXPECT_NEAR(draw->best[1].probability, 2.0 / 8, 1e-6);
  EXPECT_NEAR(draw->best[2].probability, 1.0 / 8, 1e-6);
  EXPECT_NEAR(draw->log_sum, std::log(8.0), 1e-6);
}

TEST(DrawToken, OfEqualOnesTheFirstIsTaken) {
  const std::vector<float> logits = {1, 7, 7, 2, 7};
  const auto draw = draw_token(logits, 0, 0, 2);
  ASSERT_TRUE(draw);
  EXPECT_EQ(draw->token, 1);
  ASSERT_EQ(draw->best.size(), 2U);
  EXPECT_EQ(draw->best[1].token, 2);
}

TEST(DrawToken, DrawsByTheSoftmaxAtItsTemperature) {
  const std::vector<float> logits = {0, std::log(3.0F), kNever};
  for (const double temperature : {1.0, 2.0}) {
    const double weight = std::pow(3.0, 1 / temperature);
    std::array<int, 3> counts{};
    CounterRng rng{7};
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const auto draw = draw_token(logits, temperature, rng.unit(), 8);
      ASSERT_TRUE(draw);
      ++counts[static_cast<std::size_t>(draw->token)];
      EXPECT_NEAR(draw->best[0].probability, 0.75, 1e-6) << "told at temperature 1";
    }
    EXPECT_EQ(counts[2], 0);
    // Six standard deviations.
    const double share = weight / (1 + weight);
    EXPECT_NEAR(counts[1] / double{kDraws}, share, 6 * std::sqrt(share * (1 - share) / kDraws));
  }
}

TEST(DrawToken, TheDrawnOneIsAlwaysAmongTheBest) {
  std::vector<float> logits(100);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = -static_cast<float>(i) / 50;
  }
  CounterRng rng{3};
  for (int i = 0; i < 200; ++i) {
    const auto draw = draw_token(logits, 5, rng.unit(), 8);
    ASSERT_TRUE(draw);
    ASSERT_EQ(draw->best.size(), 8U);
    bool there = false;
    for (std::size_t k = 0; k < draw->best.size(); ++k) {
      there = there || draw->best[k].token == draw->token;
      EXPECT_TRUE(k == 0 || draw->best[k].probability <= draw->best[k - 1].probability);
    }
    EXPECT_TRUE(there);
  }
}

TEST(DrawToken, EdgesOfTheUnitIntervalDrawWhatMayBeDrawn) {
  const std::vector<float> logits = {kNever, 1, 2, kNever};
  EXPECT_EQ(draw_token(logits, 1, 0, 4)->token, 1);
  EXPECT_EQ(draw_token(logits, 1, std::nextafter(1.0, 0.0), 4)->token, 2);
}

TEST(DrawToken, NothingComesOfNothing) {
  EXPECT_FALSE(draw_token({}, 0, 0, 8));
  EXPECT_FALSE(draw_token(std::vector<float>{kNever, kNever}, 0, 0, 8));
  EXPECT_FALSE(draw_token(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}, 0, 0, 8));
  EXPECT_FALSE(draw_token(std::vector<float>{1, std::numeric_limits<float>::infinity()}, 1, 0, 8));
}

TEST(LogSumExp, DoesNotOverflow) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>{1000, 1000}), 1000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{-1000, kNever}), -1000, 1e-9);
}

}  // namespace
}  // namespace rudder::llm
