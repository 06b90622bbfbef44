// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/weights.h"

#include <gtest/gtest.h>

namespace rudder::place {
namespace {

ModelShape seven_billion() {
  ModelShape model;
  model.layers = 32;
  model.hidden = 4096;
  model.vocabulary = 50257;
  model.sequence = 2048;
  model.micro_batch = 1;
  model.global_batch = 64;
  return model;
}

/// The published "2 GB and 30 MB" of a 7B model need two bytes an element.
TEST(Volumes, SevenBillionParametersAtPipelineEight) {
  const Volumes moved = volumes(seven_billion(), 1, 8, 4).value();
  EXPECT_NEAR(moved.dp_elements, 1.020e9, 0.0005e9);
  EXPECT_NEAR(moved.pp_elements, 1.678e7, 0.0005e7);
  EXPECT_NEAR(moved.dp_bytes, 2.04e9, 0.005e9);
  EXPECT_NEAR(moved.pp_bytes, 33.6e6, 0.05e6);
  EXPECT_EQ(moved.micro_batches, 16);
  EXPECT_DOUBLE_EQ(moved.pp_bytes_per_step, 16 * moved.pp_bytes);
}

TEST(Volumes, ZeroStagesAndLoneGroups) {
  ModelShape model = seven_billion();
  model.gradient_bytes = 4;
  const double elements = volumes(model, 1, 8, 4)->dp_elements;
  model.zero_stage = 0;
  EXPECT_DOUBLE_EQ(volumes(model, 1, 8, 4)->dp_bytes_per_step, 8 * elements);
  model.zero_stage = 1;
  EXPECT_DOUBLE_EQ(volumes(model, 1, 8, 4)->dp_bytes_per_step, 6 * elements);
  model.zero_stage = 3;
  EXPECT_DOUBLE_EQ(volumes(model, 1, 8, 4)->dp_bytes_per_step, 8 * elements);
  EXPECT_EQ(volumes(model, 1, 8, 1)->dp_bytes_per_step, 0);
  EXPECT_EQ(volumes(model, 1, 1, 4)->pp_bytes_per_step, 0);
  EXPECT_DOUBLE_EQ(volumes(model, 4, 8, 4)->dp_elements, elements / 4);
}

TEST(Volumes, ExpertsCountByTheirParameters) {
  ModelShape model = seven_billion();
  model.parameters = 24'000'000'000;
  const double embedding = 4096.0 * (50257 + 2048);
  EXPECT_DOUBLE_EQ(volumes(model, 1, 8, 4)->dp_elements, embedding + (24e9 - embedding) / 8);
}

TEST(Volumes, RejectsWhatDoesNotDivide) {
  EXPECT_EQ(volumes(seven_billion(), 1, 5, 4).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(volumes(seven_billion(), 1, 8, 5).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(volumes(seven_billion(), 1, 8, 128).error().code, Errc::kInvalidArgument);
  ModelShape model = seven_billion();
  model.hidden = std::int64_t{1} << 50;
  EXPECT_FALSE(volumes(model, 1, 8, 4).ok());
  model = seven_billion();
  model.zero_stage = 4;
  EXPECT_FALSE(volumes(model, 1, 8, 4).ok());
}

TEST(PhysicalCost, LossRisesToTheMeasuredSpreadAndStays) {
  const PhysicalCost cost{.dp_bytes = 83, .pp_bytes = 30, .bandwidth = 1, .measured_spread = 3};
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, {.S = 1, .Q = 1}), 83 + 30);
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, {.S = 1, .Q = 3}), 83 / (1 - 0.17) + 30);
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, {.S = 2, .Q = 1}), 83 + 30 / (1 - 0.35));
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, {.S = 9, .Q = 9}), 83 / (1 - 0.17) + 30 / (1 - 0.7));
  // 17 s against 70 s of loss.
  EXPECT_DOUBLE_EQ(alpha_of(cost), 17.0 / (17 + 70));
  EXPECT_FALSE(validate(PhysicalCost{.bandwidth = 1, .dp_loss = 1}).ok());
  EXPECT_FALSE(validate(PhysicalCost{}).ok());
}

TEST(Alpha, FromMeasuredTimes) {
  EXPECT_DOUBLE_EQ(alpha_of(MeasuredTimes{1, 2, 1, 4}).value(), 0.25);
  EXPECT_DOUBLE_EQ(alpha_of(MeasuredTimes{2, 1, 1, 4}).value(), 0);
  EXPECT_DOUBLE_EQ(alpha_of(MeasuredTimes{1, 1, 1, 1}).value(), 0.5);
  EXPECT_FALSE(alpha_of(MeasuredTimes{-1, 1, 1, 1}).ok());
}

TEST(Alpha, FromTheNearestCharacterisedJob) {
  const std::vector<Characterised> entries = {
      {"H800", 1, 100, 3, 7}, {"H800", 2, 300, 0, 1}, {"H800", 3, 200, 1, 1}, {"L20", 2, 250, 9, 1}};
  EXPECT_DOUBLE_EQ(alpha_from_database(entries, "H800", 1.1, 120).value(), 0.3);
  EXPECT_DOUBLE_EQ(alpha_from_database(entries, "L20", 0, 0).value(), 0.9);
  // Unscaled, the larger ratio decides alone; standardised, both count.
  EXPECT_DOUBLE_EQ(alpha_from_database(entries, "H800", 1, 160, RatioScale::kRaw).value(), 0.5);
  EXPECT_DOUBLE_EQ(alpha_from_database(entries, "H800", 1, 160).value(), 0.3);
  EXPECT_EQ(alpha_from_database(entries, "A100", 1, 1).error().code, Errc::kNotFound);
}

TEST(Advise, TriesTheSplitsThatDivide) {
  ModelShape model = seven_billion();
  AdviseOptions options;
  options.gpus = 64;
  options.link = {.bandwidth = 50e9};
  const std::vector<std::int32_t> capacities = {4, 4};
  const Result<std::vector<Advice>> advice = advise(model, capacities, options);
  ASSERT_TRUE(advice.ok());
  double last = 0;
  std::size_t expected = 0;
  for (int tp : {1, 2, 4, 8}) {
    for (int pp : {1, 2, 4, 8, 16, 32}) {
      const int dp = 64 / tp / pp;
      expected += dp * tp * pp == 64 && dp >= 1 && dp * tp % 8 == 0 ? 1U : 0U;
    }
  }
  EXPECT_EQ(advice->size(), expected);
  for (const Advice& entry : *advice) {
    EXPECT_EQ(entry.shape.tp * entry.shape.pp * entry.shape.dp, 64);
    EXPECT_EQ(entry.grid.cells(), 8);
    EXPECT_GE(entry.predicted_seconds, last);
    EXPECT_GE(entry.J, entry.J_lb - 1e-12);
    last = entry.predicted_seconds;
  }
  options.gpus = 72;
  EXPECT_EQ(advise(model, capacities, options).error().code, Errc::kResource);
}

}  // namespace
}  // namespace rudder::place
