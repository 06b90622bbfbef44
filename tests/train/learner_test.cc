// SPDX-License-Identifier: Apache-2.0
#include "train/learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/literal_models.h"
#include "train/make_learner.h"

namespace rudder::train {
namespace {

using ::testing::HasSubstr;
using testing_support::Dense;
using testing_support::LiteralModel;
using testing_support::make_learner;
using testing_support::random_floats;
using testing_support::random_mfg;

/// A two-layer batch with random structure, rows and labels.
struct Case {
  sample::SampledBatch batch;
  std::vector<float> rows;
  std::vector<float> degrees;
  std::vector<std::int64_t> labels;

  Case(LocalId seeds, LocalId middle, LocalId inputs, std::size_t features, std::size_t classes) {
    batch.seeds = seeds;
    batch.nodes.resize(inputs);
    batch.layers = {random_mfg(51, middle, inputs, 7), random_mfg(52, seeds, middle, 5)};
    rows = random_floats(53, inputs * features);
    CounterRng rng(54);
    for (LocalId v = 0; v < inputs; ++v) {
      degrees.push_back(static_cast<float>(8 + rng.below(20)));
    }
    for (LocalId v = 0; v < seeds; ++v) {
      labels.push_back(static_cast<std::int64_t>(rng.below(classes)));
    }
  }
  [[nodiscard]] Lesson lesson() const {
    return {
        .batch = &batch, .rows = std::as_bytes(std::span(rows)).data(), .degrees = degrees, .labels = labels};
  }
};

std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct ModelCase {
  const char* kind;
  std::size_t features, hidden, classes;
  friend void PrintTo(const ModelCase& c, std::ostream* out) {
    *out << c.kind << ' ' << c.features << '-' << c.hidden << '-' << c.classes;
  }
};

class EveryModel : public ::testing::TestWithParam<ModelCase> {
 protected:
  [[nodiscard]] LearnerOptions options() const {
    const ModelCase& given = GetParam();
    return {.model = given.kind,
            .features = given.features,
            .hidden = given.hidden,
            .classes = given.classes,
            .heads = 2,
            .dropout = 0};
  }
};

TEST_P(EveryModel, LossAndGradientEqualTheDenseModelsAndItsFiniteDifferences) {
  const ModelCase& given = GetParam();
  const Case data(9, 20, 40, given.features, given.classes);
  const auto learner = make_learner(options());
  // Biases start at zero: other values show a bias that is left out.
  const std::vector<float> values = random_floats(55, learner->parameters().size());
  std::ranges::copy(values, learner->parameters().begin());
  Lesson lesson = data.lesson();
  lesson.weight = 0.25;
  const auto loss = learner->learn(lesson);
  ASSERT_TRUE(loss.ok()) << loss.error().message;

  const LiteralModel literal{given.kind, given.features, given.hidden, given.classes, 2};
  std::vector<double> parameters(values.begin(), values.end());
  const Dense x(data.batch.nodes.size(), given.features, data.rows);
  const auto literal_loss = [&] {
    return cross_entropy(literal.forward(data.batch.layers, data.degrees, x, parameters), data.labels);
  };
  EXPECT_NEAR(static_cast<double>(*loss), literal_loss(), 2e-5);
  constexpr double kStep = 1e-6;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double before = parameters[p];
    parameters[p] = before + kStep;
    const double above = literal_loss();
    parameters[p] = before - kStep;
    const double below = literal_loss();
    parameters[p] = before;
    const double slope = (above - below) / (2 * kStep);
    ASSERT_NEAR(static_cast<double>(learner->gradient()[p]), 0.25 * slope, 2e-5 * (1 + std::abs(slope)))
        << "parameter " << p << " of " << parameters.size();
  }
}

void expect_dense_inference(const ModelCase& given, const LearnerOptions& options, const Case& data) {
  const auto learner = make_learner(options);
  const std::vector<float> values = random_floats(56, learner->parameters().size());
  std::ranges::copy(values, learner->parameters().begin());
  const LiteralModel literal{given.kind, given.features, given.hidden, given.classes, 2};
  std::vector<float> x = data.rows;
  for (std::size_t k = 0; k < 2; ++k) {
    const sample::Mfg& mfg = data.batch.layers[k];
    std::vector<float> out(mfg.destinations * learner->outputs(k));
    const Status done = learner->infer_layer(k, mfg, std::span(data.degrees).first(mfg.sources), x, out);
    ASSERT_TRUE(done.ok()) << done.error().message;
    x = out;
  }
  const std::vector<double> parameters(learner->parameters().begin(), learner->parameters().end());
  const Dense expected = literal.forward(
      data.batch.layers, data.degrees, Dense(data.batch.nodes.size(), given.features, data.rows), parameters);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(x[i]), expected.values[i], 1e-5) << "at element " << i;
  }
  EXPECT_TRUE(same_bits(copy(learner->parameters()), values)) << "inference changed the model";
}

TEST_P(EveryModel, InfersEachLayerAsTheDenseModelDoes) {
  const ModelCase& given = GetParam();
  expect_dense_inference(given, options(), Case(9, 20, 40, given.features, given.classes));
}

TEST_P(EveryModel, InfersForASingleDestination) {
  const ModelCase& given = GetParam();
  expect_dense_inference(given, options(), Case(1, 1, 4, given.features, given.classes));
  expect_dense_inference(given, options(), Case(1, 1, 1, given.features, given.classes));
}

void expect_same_on_any_number_of_threads(LearnerOptions options, const Case& data) {
  std::vector<float> expected;
  for (const std::size_t threads : {1U, 1U, 2U, 3U}) {
    options.threads = threads;
    const auto learner = make_learner(options);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(learner->learn(data.lesson()).ok());
      learner->update();
    }
    if (expected.empty()) {
      expected = copy(learner->parameters());
    }
    EXPECT_TRUE(same_bits(copy(learner->parameters()), expected)) << threads << " threads";
  }
}

TEST_P(EveryModel, DoesNotDependOnTheNumberOfThreads) {
  const ModelCase& given = GetParam();
  const Case data(300, 3000, 9000, given.features, given.classes);
  LearnerOptions given_options = options();
  given_options.dropout = 0.5;
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    given_options.precision = precision;
    expect_same_on_any_number_of_threads(given_options, data);
  }
}

TEST_P(EveryModel, LowersTheLossOnOneBatch) {
  const ModelCase& given = GetParam();
  const Case data(30, 100, 300, given.features, given.classes);
  LearnerOptions given_options = options();
  given_options.learning_rate.peak = 0.02;
  const auto learner = make_learner(given_options);
  const float first = *learner->learn(data.lesson());
  for (int step = 0; step < 100; ++step) {
    learner->update();
    ASSERT_TRUE(learner->learn(data.lesson()).ok());
  }
  EXPECT_LT(*learner->learn(data.lesson()), 0.8F * first);
}

// Widths that make layers add up before they multiply, and the other way round.
INSTANTIATE_TEST_SUITE_P(Models, EveryModel,
                         ::testing::Values(ModelCase{"sage", 5, 4, 3}, ModelCase{"sage", 40, 8, 2},
                                           ModelCase{"gcn", 5, 4, 3}, ModelCase{"gcn", 40, 8, 2},
                                           ModelCase{"gat", 5, 4, 3}, ModelCase{"gat", 40, 8, 2}));

TEST(Learner, StartsFromValuesThatDependOnTheSeedAlone) {
  LearnerOptions options{.features = 10, .classes = 3};
  const auto first = make_learner(options);
  options.threads = 2;
  const auto second = make_learner(options);
  options.seed = 2;
  const auto other = make_learner(options);
  EXPECT_TRUE(same_bits(copy(first->parameters()), copy(second->parameters())));
  EXPECT_FALSE(same_bits(copy(first->parameters()), copy(other->parameters())));
}

TEST_P(EveryModel, LearnsInBf16NearlyWhatItLearnsInF32) {
  const ModelCase& given = GetParam();
  const Case data(300, 3000, 9000, given.features, given.classes);
  LearnerOptions given_options = options();
  const auto exact = make_learner(given_options);
  given_options.precision = Precision::kBf16;
  const auto rounded = make_learner(given_options);
  const auto loss = static_cast<double>(*exact->learn(data.lesson()));
  // bf16 keeps 8 bits: each factor and product is off by at most 1/256 of itself.
  EXPECT_NEAR(static_cast<double>(*rounded->learn(data.lesson())), loss, 0.01 * loss);
  double difference = 0;
  double whole = 0;
  for (std::size_t i = 0; i < exact->gradient().size(); ++i) {
    difference += std::pow(static_cast<double>(rounded->gradient()[i] - exact->gradient()[i]), 2);
    whole += std::pow(static_cast<double>(exact->gradient()[i]), 2);
  }
  EXPECT_LT(std::sqrt(difference / whole), 0.03);
  EXPECT_GT(difference, 0) << "bf16 rounds";
  std::vector<float> one(data.batch.layers[0].destinations * exact->outputs(0));
  std::vector<float> two = one;
  const auto degrees = std::span(data.degrees).first(data.batch.layers[0].sources);
  ASSERT_TRUE(exact->infer_layer(0, data.batch.layers[0], degrees, data.rows, one).ok());
  ASSERT_TRUE(rounded->infer_layer(0, data.batch.layers[0], degrees, data.rows, two).ok());
  EXPECT_TRUE(same_bits(one, two)) << "inference is in f32";
}

TEST(Learner, LeavesSeedsWithoutALabelOutOfTheMean) {
  Case data(9, 20, 40, 5, 3);
  for (const std::size_t i : {0U, 4U, 8U}) {
    data.labels[i] = -1;
  }
  const auto learner = make_learner({.features = 5, .hidden = 4, .classes = 3, .dropout = 0});
  Lesson lesson = data.lesson();
  lesson.weight = 0.25;
  const float loss = *learner->learn(lesson);
  const LiteralModel literal{"sage", 5, 4, 3, 1};
  std::vector<double> parameters(learner->parameters().begin(), learner->parameters().end());
  const Dense x(data.batch.nodes.size(), 5, data.rows);
  const auto literal_loss = [&] {
    const Dense logits = literal.forward(data.batch.layers, data.degrees, x, parameters);
    Dense labelled(6, 3);
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < 9; ++i) {
      if (data.labels[i] >= 0) {
        for (std::size_t c = 0; c < 3; ++c) {
          labelled.at(labels.size(), c) = logits.at(i, c);
        }
        labels.push_back(data.labels[i]);
      }
    }
    return cross_entropy(labelled, labels);
  };
  EXPECT_NEAR(static_cast<double>(loss), literal_loss(), 2e-5);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double before = parameters[p];
    parameters[p] = before + 1e-6;
    const double above = literal_loss();
    parameters[p] = before - 1e-6;
    const double slope = (above - literal_loss()) / 2e-6;
    parameters[p] = before;
    ASSERT_NEAR(static_cast<double>(learner->gradient()[p]), 0.25 * slope, 2e-5 * (1 + std::abs(slope)));
  }
  const std::vector<float> gradient = copy(learner->gradient());
  std::ranges::fill(data.labels, -1);
  EXPECT_EQ(*learner->learn(data.lesson()), 0);
  EXPECT_TRUE(same_bits(copy(learner->gradient()), gradient)) << "nothing to learn from";
}

TEST(Learner, AddsUpGradientsUntilTheUpdate) {
  const Case data(9, 20, 40, 6, 3);
  const auto learner = make_learner({.features = 6, .hidden = 8, .classes = 3, .dropout = 0});
  Lesson lesson = data.lesson();
  ASSERT_TRUE(learner->learn(lesson).ok());
  const std::vector<float> once = copy(learner->gradient());
  lesson.weight = 0.5;
  ASSERT_TRUE(learner->learn(lesson).ok());
  for (std::size_t i = 0; i < once.size(); ++i) {
    ASSERT_FLOAT_EQ(learner->gradient()[i], 1.5F * once[i]) << "parameter " << i;
  }
  learner->update();
  EXPECT_EQ(std::ranges::count(learner->gradient(), 0.0F), static_cast<std::ptrdiff_t>(once.size()));
}

TEST(Learner, DrawsAnotherDropoutMaskForEveryEpochBatchAndRank) {
  Case data(9, 20, 40, 6, 3);
  const auto learner = make_learner({.features = 6, .hidden = 64, .classes = 3});
  std::set<float> losses;
  for (const auto& [epoch, batch, rank] : std::vector<std::tuple<std::uint32_t, std::uint32_t, Rank>>{
           {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    data.batch.key = {epoch, batch, rank};
    const float loss = *learner->learn(data.lesson());
    EXPECT_EQ(*learner->learn(data.lesson()), loss);
    losses.insert(loss);
  }
  EXPECT_EQ(losses.size(), 4U);
}

TEST(Learner, GetsTheSameBitsBesideOtherLearnersInTheProcess) {
  const Case data(100, 1000, 3000, 32, 5);
  const auto train = [&] {
    const auto learner = make_learner({.features = 32, .hidden = 32, .classes = 5});
    for (int step = 0; step < 5; ++step) {
      EXPECT_TRUE(learner->learn(data.lesson()).ok());
      learner->update();
    }
    return copy(learner->parameters());
  };
  const std::vector<float> alone = train();
  std::vector<std::vector<float>> together(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : together) {
      threads.emplace_back([&] { result = train(); });
    }
  }
  for (const auto& result : together) {
    EXPECT_TRUE(same_bits(result, alone));
  }
}

TEST(Learner, ReadsRowsOfHalfPrecision) {
  const Case data(9, 20, 40, 6, 3);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    std::vector<std::uint16_t> halves(data.rows.size());
    std::vector<float> widened(data.rows.size());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      halves[i] = type == DType::kF16 ? f32_to_f16(data.rows[i]) : f32_to_bf16(data.rows[i]);
      widened[i] = type == DType::kF16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]);
    }
    const auto learner = make_learner({.features = 6, .hidden = 8, .classes = 3});
    Lesson lesson = data.lesson();
    lesson.rows = std::as_bytes(std::span(widened)).data();
    const float expected = *learner->learn(lesson);
    lesson.rows = std::as_bytes(std::span(halves)).data();
    lesson.dtype = type;
    EXPECT_EQ(*learner->learn(lesson), expected) << name_of(type);
  }
}

TEST(Learner, RefusesModelsItDoesNotHave) {
  const auto unknown = Learner::create({.model = "sagee", .features = 4, .classes = 2});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("'sagee', did you mean 'sage'?"));
  const auto uneven =
      Learner::create({.model = "gat", .features = 4, .hidden = 10, .classes = 2, .heads = 4});
  ASSERT_FALSE(uneven.ok());
  EXPECT_THAT(uneven.error().message, HasSubstr("10 hidden units"));
  const auto all_dropped = Learner::create({.features = 4, .classes = 2, .dropout = 1});
  ASSERT_FALSE(all_dropped.ok());
}

}  // namespace
}  // namespace rudder::train
