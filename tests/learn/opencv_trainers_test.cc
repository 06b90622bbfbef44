// SPDX-License-Identifier: Apache-2.0
// What was taken out of the library answers as the library does.
#include "learn/opencv_trainers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::learn {
namespace {

/// Four columns; the class is the third of a line across two of them, or wrong one time in ten.
Prepared noisy(std::uint32_t classes, std::size_t count) {
  Prepared input;
  input.columns = 4;
  input.classes = classes;
  CounterRng rng({11, classes});
  for (std::size_t i = 0; i < count; ++i) {
    float row[4];
    for (float& value : row) {
      value = static_cast<float>(rng.unit() * 2 - 1);
    }
    input.rows.insert(input.rows.end(), row, row + 4);
    const double place = (static_cast<double>(row[0] + row[1]) + 2) / 4 * classes;
    const auto label = std::min(static_cast<std::uint32_t>(place), classes - 1);
    input.labels.push_back(static_cast<std::int32_t>(rng.below(10) == 0 ? rng.below(classes) : label));
  }
  return input;
}

std::vector<double> row_of(const Prepared& input, std::size_t row) {
  const auto from = input.rows.begin() + static_cast<std::ptrdiff_t>(row * input.columns);
  return {from, from + static_cast<std::ptrdiff_t>(input.columns)};
}

std::size_t most(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

class Trainers : public testing::TestWithParam<std::uint32_t> {
 protected:
  Prepared input_ = noisy(GetParam(), 600);
  std::vector<double> library_;
};

TEST_P(Trainers, LogisticRegressionChoosesTheLibrarysClass) {
  const auto linear = train_logistic(input_, &library_);
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  ASSERT_EQ(library_.size(), 600U);
  for (std::size_t i = 0; i < 600; ++i) {
    std::vector<double> scores(linear->scores.outputs);
    linear->scores.apply(row_of(input_, i), scores);
    const std::size_t ours = scores.size() == 1 ? (scores[0] > 0 ? 1 : 0) : most(scores);
    ASSERT_EQ(static_cast<double>(ours), library_[i]) << "row " << i;
  }
}

TEST_P(Trainers, LogisticRegressionHasConverged) {
  const auto linear = train_logistic(input_);
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  // The gradient of the mean loss, with the library's penalty of half a squared weight over all rows.
  for (std::size_t output = 0; output < linear->scores.outputs; ++output) {
    const auto self = static_cast<std::int32_t>(GetParam() == 2 ? 1 : output);
    std::vector<double> gradient(5);
    for (std::size_t i = 0; i < 600; ++i) {
      std::vector<double> row = row_of(input_, i);
      std::vector<double> scores(linear->scores.outputs);
      linear->scores.apply(row, scores);
      const double error = 1 / (1 + std::exp(-scores[output])) - (input_.labels[i] == self ? 1 : 0);
      row.push_back(1);
      for (std::size_t column = 0; column < 5; ++column) {
        gradient[column] += error * row[column] / 600;
      }
    }
    for (std::size_t column = 0; column < 4; ++column) {
      gradient[column] += linear->scores.weights[output * 5 + column] / 600;
    }
    for (const double part : gradient) {
      EXPECT_NEAR(part, 0, 2e-3);
    }
  }
}

TEST_P(Trainers, MarginsOfTheSupportVectorMachineEqualTheLibrarys) {
  const auto linear = train_linear_svm(input_, &library_);
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  for (std::size_t i = 0; i < 600; ++i) {
    std::vector<double> scores(linear->scores.outputs);
    linear->scores.apply(row_of(input_, i), scores);
    for (std::size_t output = 0; output < scores.size(); ++output) {
      ASSERT_NEAR(scores[output], library_[i * scores.size() + output], 1e-4) << "row " << i;
    }
  }
}

TEST_P(Trainers, OutputsOfTheNetworkEqualTheLibrarys) {
  const auto network = train_network(input_, 100, &library_);
  ASSERT_TRUE(network.ok()) << network.error().message;
  for (std::size_t i = 0; i < 600; ++i) {
    std::vector<double> outputs(GetParam());
    network->apply(row_of(input_, i), outputs);
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      ASSERT_NEAR(outputs[output], library_[i * outputs.size() + output], 1e-5) << "row " << i;
    }
  }
}

TEST_P(Trainers, VotesOfTheForestEqualTheLibrarys) {
  const auto forest = train_random_forest(input_, &library_);
  ASSERT_TRUE(forest.ok()) << forest.error().message;
  EXPECT_EQ(forest->trees(), 100U);
  int ties = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    std::vector<double> votes(GetParam());
    forest->add(std::span(input_.rows).subspan(i * 4, 4), votes);
    const auto theirs = static_cast<std::size_t>(library_[i]);
    ASSERT_EQ(votes[theirs], votes[most(votes)]) << "row " << i;
    ties += theirs != most(votes) ? 1 : 0;
  }
  EXPECT_LT(ties, 6);
}

INSTANTIATE_TEST_SUITE_P(Classes, Trainers, testing::Values(2U, 3U, 5U));

TEST(TrainersOfOneClass, TheLibrarysRefusalIsAnError) {
  Prepared one = noisy(2, 50);
  std::fill(one.labels.begin(), one.labels.end(), 0);
  const auto result = train_logistic(one);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::kInternal);
  EXPECT_NE(result.error().message.find("OpenCV, logistic regression"), std::string::npos);
}

}  // namespace
}  // namespace rudder::learn
