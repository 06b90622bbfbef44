// SPDX-License-Identifier: Apache-2.0
// Nodes with several classes: the loss, and whole runs.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/learner.h"
#include "train/literal_models.h"
#include "train/make_learner.h"
#include "train/planted_case.h"
#include "train/small_run.h"

namespace rudder::train {
namespace {

using testing_support::Dense;
using testing_support::interrupted;
using testing_support::LiteralModel;
using testing_support::make_learner;
using testing_support::PlantedCase;
using testing_support::random_floats;
using testing_support::random_mfg;
using testing_support::small_run;
using testing_support::train_all;

TEST(BinaryCrossEntropy, FollowsAWorkedExample) {
  // One layer, two seeds without neighbours: outputs are x W + b with x = 1 and -1.
  const auto learner =
      make_learner({.features = 1, .classes = 2, .multi_label = true, .layers = 1, .dropout = 0});
  ASSERT_EQ(learner->parameters().size(), 6U);  // W, the neighbours' weights, b
  const std::vector<float> parameters = {std::log(3.0F), 0, 7, 7, 0, 0};
  std::ranges::copy(parameters, learner->parameters().begin());
  sample::SampledBatch batch;
  batch.seeds = 2;
  batch.nodes = {0, 1};
  batch.layers = {{.destinations = 2, .sources = 2, .indptr = {0, 0, 0}, .indices = {}}};
  const std::vector<float> x = {1, -1};
  const std::vector<std::uint8_t> labels = {1, 0, 1, 1};
  const float loss =
      *learner->learn({.batch = &batch, .rows = std::as_bytes(std::span(x)).data(), .label_rows = labels});
  // Probabilities 3/4, 1/2 and 1/4, 1/2: -(ln 3/4 + ln 1/2 + ln 1/4 + ln 1/2) / 4.
  EXPECT_NEAR(static_cast<double>(loss), std::log(64.0 / 3) / 4, 1e-6);
  // Probability - label, a quarter each: by b, and times x by W.
  const std::vector<float> expected = {0.125F, 0.25F, 0, 0, -0.25F, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(learner->gradient()[i]), static_cast<double>(expected[i]), 1e-6) << i;
  }
}

TEST(BinaryCrossEntropy, HasTheLiteralLossAndItsSlope) {
  constexpr std::size_t kSeeds = 9;
  constexpr std::size_t kClasses = 3;
  sample::SampledBatch batch;
  batch.seeds = kSeeds;
  batch.nodes.resize(40);
  batch.layers = {random_mfg(51, 20, 40, 7), random_mfg(52, kSeeds, 20, 5)};
  const std::vector<float> rows = random_floats(53, 40 * 5);
  std::vector<std::uint8_t> labels;
  CounterRng rng(54);
  for (std::size_t i = 0; i < kSeeds * kClasses; ++i) {
    labels.push_back(static_cast<std::uint8_t>(rng.below(2)));
  }
  const auto learner =
      make_learner({.features = 5, .hidden = 4, .classes = kClasses, .multi_label = true, .dropout = 0});
  const std::vector<float> values = random_floats(55, learner->parameters().size());
  std::ranges::copy(values, learner->parameters().begin());
  const float loss = *learner->learn(
      {.batch = &batch, .rows = std::as_bytes(std::span(rows)).data(), .label_rows = labels, .weight = 0.25});
  const LiteralModel literal{"sage", 5, 4, kClasses, 1};
  std::vector<double> parameters(values.begin(), values.end());
  const Dense x(40, 5, rows);
  const auto literal_loss = [&] {
    const Dense outputs = literal.forward(batch.layers, {}, x, parameters);
    double sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double chance = 1 / (1 + std::exp(-outputs.values[i]));
      sum -= std::log(labels[i] == 1 ? chance : 1 - chance);
    }
    return sum / static_cast<double>(labels.size());
  };
  EXPECT_NEAR(static_cast<double>(loss), literal_loss(), 2e-5);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double before = parameters[p];
    parameters[p] = before + 1e-6;
    const double above = literal_loss();
    parameters[p] = before - 1e-6;
    const double slope = (above - literal_loss()) / 2e-6;
    parameters[p] = before;
    ASSERT_NEAR(static_cast<double>(learner->gradient()[p]), 0.25 * slope, 2e-5 * (1 + std::abs(slope)))
        << "parameter " << p;
  }
}

PlantedCase& several_classes() {
  static PlantedCase shared([] {
    graph::GeneratorOptions options = PlantedCase::small();
    options.multi_label = true;
    return options;
  }());
  return shared;
}

TEST(MultiLabel, LearnsTheClassesOfPlantedCommunitiesOnAnyNumberOfRanks) {
  for (const Rank world : {Rank{1}, Rank{2}}) {
    TrainOptions options = small_run(several_classes().partition(world));
    options.batch = 80 / world;
    options.epochs = 12;
    options.evaluate = true;
    const TrainResult result = train_all(options, world);
    EXPECT_EQ(result.metric, "micro_f1");
    EXPECT_GT(result.test_accuracy, 0.85) << world << " ranks";
    EXPECT_GT(result.val_accuracy, 0.85) << world << " ranks";
    EXPECT_LT(result.epochs.back().loss, 0.6 * result.epochs.front().loss);
  }
}

TEST(MultiLabel, NothingButTheScheduleDecidesTheLosses) {
  TrainOptions options = small_run(several_classes().partition(2));
  options.policy = "none";
  options.depth = 0;
  const TrainResult plain = train_all(options, 2);
  options.policy = "lookahead";
  options.depth = 4;
  options.threads = 2;
  const TrainResult other = train_all(options, 2);
  EXPECT_EQ(other.loss_digest, plain.loss_digest);
  EXPECT_EQ(other.model_digest, plain.model_digest);
}

TEST(MultiLabel, StopsEarlyAndResumes) {
  TrainOptions options = small_run(several_classes().partition(2));
  options.epochs = 80;
  options.patience = 3;
  options.evaluate = true;
  const TrainResult whole = train_all(options, 2);
  EXPECT_TRUE(whole.stopped_early);
  EXPECT_EQ(whole.val_accuracy, whole.best_val_accuracy);
  const auto folder = TemporaryDirectory::create("multi-label");
  options.checkpoint_directory = folder->path() / "run";
  options.resume = true;
  EXPECT_TRUE(interrupted(options, 2, 2).stopped);
  const TrainResult last = train_all(options, 2);
  EXPECT_EQ(last.loss_digest, whole.loss_digest);
  EXPECT_EQ(last.model_digest, whole.model_digest);
  EXPECT_EQ(last.best_epoch, whole.best_epoch);
}

}  // namespace
}  // namespace rudder::train
