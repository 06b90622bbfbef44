// SPDX-License-Identifier: Apache-2.0
// Classifiers learn what can be told, bear noise, heed weights, and come out the same whatever runs beside.
#include "rudder/learn/model.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>

#include "learn/model_samples.h"

namespace rudder::learn {
namespace {

using testing::HasSubstr;
using testing_support::accuracy;
using testing_support::chosen;
using testing_support::draw;
using testing_support::Drawn;

class Kinds : public testing::TestWithParam<std::string> {};

TEST_P(Kinds, LearnsARuleForRowsNotSeen) {
  const auto model = Model::train(GetParam(), draw(2, 3000, 1).samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->kind(), GetParam());
  EXPECT_GT(accuracy(*model, draw(2, 2000, 2)), 0.95);
}

TEST_P(Kinds, BearsLabelsOfWhichOneInFiveIsWrong) {
  Drawn drawn = draw(2, 4000, 3);
  CounterRng rng({9});
  for (std::uint32_t& label : drawn.labels) {
    label = rng.below(5) == 0 ? 1 - label : label;
  }
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_GT(accuracy(*model, draw(2, 2000, 4)), 0.9);
}

TEST_P(Kinds, ProbabilitiesAreSharesOfOne) {
  Drawn drawn = draw(4, 1500, 5);
  drawn.classes = 6;  // of which the last two never occur
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  double least = 1;
  double most = 0;
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    std::vector<double> shares(6);
    model->probabilities(drawn.row(i), shares);
    ASSERT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
    ASSERT_TRUE(std::all_of(shares.begin(), shares.end(), [](double share) { return share >= 0; }));
    ASSERT_EQ(shares[4], 0);
    ASSERT_EQ(shares[5], 0);
    least = std::min(least, shares[0]);
    most = std::max(most, shares[0]);
  }
  EXPECT_LT(least, 0.15);
  EXPECT_GT(most, 0.5);
}

TEST_P(Kinds, AClassSeenAloneIsChosenAlways) {
  Drawn drawn = draw(2, 50, 6);
  drawn.classes = 3;
  std::fill(drawn.labels.begin(), drawn.labels.end(), 1U);
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<double> shares(3);
  model->probabilities(drawn.row(0), shares);
  EXPECT_THAT(shares, testing::ElementsAre(0, 1, 0));
}

TEST_P(Kinds, OneRowIsEnough) {
  const auto model = Model::train(GetParam(), draw(2, 1, 7).samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(chosen(*model, draw(2, 1, 7).row(0)), draw(2, 1, 7).labels[0]);
}

TEST_P(Kinds, AColumnOfOneValueDoesNotMatter) {
  Drawn drawn = draw(2, 800, 8);
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    drawn.rows[i * 6 + 4] = 1e7F;
  }
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_GT(accuracy(*model, drawn), 0.95);
}

TEST_P(Kinds, WhatErrorsCostDecidesWhereClassesMix) {
  // The label is a coin, heads three times in four; only the first column says what a mistake costs.
  Drawn drawn = draw(2, 4000, 10);
  CounterRng rng({12});
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    drawn.labels[i] = rng.below(4) == 0 ? 0 : 1;
    const bool upper = drawn.row(i)[0] > 0.5F;
    drawn.weights.push_back(upper && drawn.labels[i] == 0 ? 12 : 1);  // 12/4 against 3/4
  }
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::size_t as_wanted = 0;
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    as_wanted += chosen(*model, drawn.row(i)) == (drawn.row(i)[0] > 0.5F ? 0U : 1U) ? 1U : 0U;
  }
  EXPECT_GT(as_wanted, 3400U);
}

TEST_P(Kinds, RowsOfWeightZeroAreAsIfAbsent) {
  Drawn drawn = draw(3, 600, 13);
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    drawn.weights.push_back(drawn.labels[i] == 2 ? 0 : 1);
  }
  const auto model = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<double> shares(3);
  model->probabilities(drawn.row(0), shares);
  EXPECT_EQ(shares[2], 0);
  std::fill(drawn.weights.begin(), drawn.weights.end(), 0.0);
  const auto all = Model::train(GetParam(), drawn.samples(), 1);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GT(accuracy(*all, drawn), 0.8) << "when no error costs anything, rows count alike";
}

TEST_P(Kinds, TheSameSeedGivesTheSameModelWhateverTheLibrariesWereSetTo) {
  const Drawn drawn = draw(3, 700, 14);
  cv::setNumThreads(1);
  const std::string one = Model::train(GetParam(), drawn.samples(), 5)->to_json().dump();
  cv::setNumThreads(2);
  cv::theRNG().state = 4711;
  EXPECT_EQ(Model::train(GetParam(), drawn.samples(), 5)->to_json().dump(), one);
  EXPECT_EQ(cv::getNumThreads(), 2) << "what was set before holds again";
}

INSTANTIATE_TEST_SUITE_P(All, Kinds, testing::Values("lr", "svm", "mlp", "rf", "xgb"),
                         [](const auto& each) { return each.param; });

class Curved : public testing::TestWithParam<std::string> {};

TEST_P(Curved, LearnsWhatNoLineDivides) {
  const auto curved = [](std::uint64_t seed) {
    Drawn drawn = draw(2, 3000, seed);
    for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
      drawn.labels[i] = (drawn.row(i)[0] > 0.5F) != (drawn.row(i)[2] > 50.5F) ? 1 : 0;
    }
    return drawn;
  };
  const auto model = Model::train(GetParam(), curved(15).samples(), 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_GT(accuracy(*model, curved(16)), 0.95);
}

INSTANTIATE_TEST_SUITE_P(All, Curved, testing::Values("mlp", "rf", "xgb"),
                         [](const auto& each) { return each.param; });

TEST(Model, BadSamplesAreRefusedByName) {
  const Drawn good = draw(2, 10, 17);
  const auto refuses = [](std::string_view kind, const Drawn& drawn, const std::string& message) {
    const auto result = Model::train(kind, drawn.samples(), 1);
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr(message));
  };
  refuses("xgbo", good, "unknown classifier 'xgbo' (did you mean 'xgb'?)");
  refuses("lr", Drawn{}, "classifier lr: there is nothing to learn from");
  Drawn bad = good;
  bad.labels[3] = 2;
  refuses("lr", bad, "row 3 has class 2 of 2");
  bad = good;
  bad.rows[7] = std::numeric_limits<float>::infinity();
  refuses("rf", bad, "row 1");
  bad = good;
  bad.rows.pop_back();
  refuses("rf", bad, "59 numbers");
  bad = good;
  bad.weights.assign(10, -1.0);
  refuses("rf", bad, "weight -1");
}

}  // namespace
}  // namespace rudder::learn
