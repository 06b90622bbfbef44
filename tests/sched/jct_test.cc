// SPDX-License-Identifier: Apache-2.0
// The predictor: the split by time, quantiles that cover, files.
#include "rudder/sched/jct.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/sched/trace.h"

#include "sched/jct_features.h"

namespace rudder::sched {
namespace {

using testing::HasSubstr;

constexpr JctOptions kSmall{.bins = 12, .bags = 2, .rounds = 8, .depth = 3};

/// Run times that the user tells: minutes 10 x (1 + user), give or take a fifth.
Trace tellable(int jobs, std::uint64_t seed) {
  Trace trace;
  for (int i = 0; i < jobs; ++i) {
    CounterRng rng({seed, static_cast<std::uint64_t>(i)});
    TraceJob job;
    const std::uint64_t user = rng.below(8);
    job.spec.id = i;
    job.spec.name = std::to_string(i);
    job.spec.user = std::string(1, static_cast<char>('a' + user));
    job.spec.submit = Time{120} * i;
    job.spec.limit = 100'000;
    job.duration = static_cast<Time>(600.0 * static_cast<double>(1 + user) * (0.8 + 0.2 * rng.unit()));
    trace.jobs.push_back(job);
  }
  return trace;
}

TEST(Jct, LearnsWhatCanBeToldAndCoversItsQuantile) {
  const Trace trace = tellable(3000, 1);
  const auto model = JctModel::train(trace, 2000, kSmall);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const JctScores scores = model->score(trace, 2000, 0.9);
  EXPECT_EQ(scores.test_jobs, 1000);
  EXPECT_LT(scores.rmse_bins, 0.35 * scores.rmse_bins_constant);
  EXPECT_LT(scores.rmse_log2_minutes, 0.5 * scores.rmse_log2_minutes_constant);
  EXPECT_GE(scores.coverage, 0.9);
  const auto times = model->quantiles(trace, 2000, 0.9);
  EXPECT_EQ(times[1999], 100'000) << "jobs to learn from are not predicted";
  EXPECT_LT(scores.limit_ratio, 0.045) << "45 minutes on average, not the limit of 28 hours";
}

TEST(Jct, HigherQuantilesAreNeverShorterAndLimitsAreNeverExceeded) {
  Trace trace = tellable(1500, 2);
  for (std::size_t i = 0; i < trace.jobs.size(); i += 3) {
    trace.jobs[i].spec.limit = 700;
  }
  const auto model = JctModel::train(trace, 1000, kSmall);
  const auto low = model->quantiles(trace, 1000, 0.5);
  const auto high = model->quantiles(trace, 1000, 0.95);
  for (std::size_t i = 1000; i < trace.jobs.size(); ++i) {
    EXPECT_LE(low[i], high[i]);
    EXPECT_LE(high[i], trace.jobs[i].spec.limit);
  }
}

TEST(Jct, WhatHappensAfterTheSplitDoesNotChangeTheModel) {
  const Trace trace = tellable(1500, 3);
  Trace other = trace;
  const Time known = trace.jobs[1000].spec.submit;
  for (TraceJob& job : other.jobs) {
    if (job.spec.submit + job.duration > known) {
      job.duration += 5'000;  // still running, or not yet there, when the model is trained
    }
  }
  TemporaryDirectory directory = TemporaryDirectory::create("rudder-jct").value();
  ASSERT_TRUE(JctModel::train(trace, 1000, kSmall)->save(directory.path() / "a").ok());
  ASSERT_TRUE(JctModel::train(other, 1000, kSmall)->save(directory.path() / "b").ok());
  EXPECT_EQ(read_text(directory.path() / "a").value(), read_text(directory.path() / "b").value());
}

TEST(Jct, HistoryHoldsOnlyWhatHadEnded) {
  Trace trace = tellable(3, 1);
  for (TraceJob& job : trace.jobs) {
    job.spec.user.assign(1, 'a');
  }
  trace.jobs[0].duration = 120;   // ends exactly when job 1 comes
  trace.jobs[1].duration = 5000;  // runs on when job 2 comes
  const std::vector<float> features = jct_features(trace);
  constexpr std::size_t kKnown = kFeatures - 1;
  EXPECT_EQ(features[0 * kFeatures + kKnown], 0.0F);
  EXPECT_EQ(features[1 * kFeatures + kKnown], 1.0F);
  EXPECT_EQ(features[2 * kFeatures + kKnown], 1.0F);
}

TEST(Jct, FilesComeBackAndDamagedOnesAreRefused) {
  const Trace trace = tellable(600, 4);
  TemporaryDirectory directory = TemporaryDirectory::create("rudder-jct").value();
  const std::filesystem::path path = directory.path() / "model.json";
  const auto model = JctModel::train(trace, 400, {.bins = 4, .bags = 1, .rounds = 2, .depth = 2});
  ASSERT_TRUE(model->save(path).ok());
  const auto loaded = JctModel::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->quantiles(trace, 0, 0.8), model->quantiles(trace, 0, 0.8));

  const auto good = nlohmann::json::parse(read_text(path).value());
  const auto refuses = [&](const std::function<void(nlohmann::json&)>& damage, const std::string& message) {
    nlohmann::json json = good;
    damage(json);
    std::ofstream(path) << json.dump();
    const auto result = JctModel::load(path);
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, Errc::kInvalidData);
    EXPECT_THAT(result.error().message, HasSubstr(message));
    EXPECT_THAT(result.error().message, HasSubstr("model.json"));
  };
  refuses([](auto& json) { json = 5; }, "not a rudder-jct model");
  refuses([](auto& json) { json["version"] = 2; }, "not a rudder-jct model");
  refuses([](auto& json) { json["features"] = 3; }, "not a rudder-jct model");
  refuses([](auto& json) { json["bins"] = 1; }, "'bins'");
  refuses([](auto& json) { json["bin_seconds"] = -1; }, "'bin_seconds'");
  refuses([](auto& json) { json["mean_bin"] = "x"; }, "'mean_bin'");
  refuses([](auto& json) { json.erase("bags"); }, "'bags'");
  refuses([](auto& json) { json["bags"][0] = 7; }, "not an array of trees");
  refuses([](auto& json) { json["bags"][0][0]["group"] = 4; }, "tree 0: an unknown class");
  refuses([](auto& json) { json["bags"][0][0]["left"][0] = 0; }, "tree 0: a child that does not lie behind");
  refuses([](auto& json) { json["bags"][0][0]["right"][0] = 1'000'000; }, "tree 0: a child");
  refuses([](auto& json) { json["bags"][0][0]["feature"][0] = 99; }, "tree 0: an unknown feature");
  refuses([](auto& json) { json["bags"][0][0]["threshold"].clear(); }, "tree 0: arrays of different lengths");
  refuses([](auto& json) { json["bags"][0][0]["left"][0] = 0.5; }, "tree 0: not arrays of numbers");
  refuses([](auto& json) { json["logarithm"][0]["group"] = 1; }, "tree 0: an unknown class");
  std::ofstream(path) << "{\"format\": \"rudder-jct\"";
  EXPECT_FALSE(JctModel::load(path).ok());
}

TEST(Jct, OptionsAndSplitsAreChecked) {
  const Trace trace = tellable(300, 5);
  EXPECT_FALSE(JctModel::train(trace, 50, kSmall).ok()) << "too few jobs";
  EXPECT_FALSE(JctModel::train(trace, 301, kSmall).ok());
  EXPECT_FALSE(JctModel::train(trace, 200, {.bins = 1}).ok());
}

}  // namespace
}  // namespace rudder::sched
