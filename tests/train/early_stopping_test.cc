// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/clock.h"
#include "rudder/transport/rendezvous.h"

#include "train/planted_case.h"
#include "train/run_progress.h"
#include "train/small_run.h"

namespace rudder::train {
namespace {

using ::testing::HasSubstr;
using testing_support::error_of;
using testing_support::interrupted;
using testing_support::planted;
using testing_support::PlantedCase;
using testing_support::small_run;
using testing_support::train_all;

/// A run of one step an epoch whose accuracies are given.
class Judged {
 public:
  explicit Judged(const TrainOptions& options)
      : options_(options),
        graph_(graph::PartitionedGraph::open(options.partition).value()),
        learner_(Learner::create({.features = 3, .hidden = 2, .classes = 2}).value()),
        collective_(make_collective(who_, store_, from_seconds(5)).value()),
        progress_(options_, who_, graph_, {.batches = 1, .group = 1}) {
    EXPECT_TRUE(progress_.open().ok());
    EXPECT_TRUE(progress_.resume(*collective_, *learner_).ok());
  }

  /// Finishes epochs with these accuracies as long as the run goes on; returns how many.
  std::size_t finish(const std::vector<double>& accuracies) {
    std::size_t finished = 0;
    while (!progress_.done() && finished < accuracies.size()) {
      const std::uint32_t epoch = progress_.epoch();
      std::ranges::fill(learner_->parameters(), static_cast<float>(epoch));
      progress_.finish_step(1, 1, *learner_);
      EpochResult result{.epoch = epoch};
      if (progress_.evaluates()) {
        result.val_accuracy = accuracies[finished];
      }
      progress_.finish_epoch(result, *learner_);
      ++finished;
    }
    return finished;
  }
  TrainResult report() {
    TrainResult result;
    progress_.report(result);
    progress_.take_best(*learner_);
    return result;
  }
  [[nodiscard]] float parameter() const { return learner_->parameters().front(); }

 private:
  TrainOptions options_;
  RankInfo who_;
  graph::PartitionedGraph graph_;
  transport::LocalRendezvous store_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Collective> collective_;
  RunProgress progress_;
};

TrainOptions patient(std::uint32_t patience) {
  TrainOptions options = small_run(planted().partition(1));
  options.epochs = 100;
  options.patience = patience;
  return options;
}

TEST(Patience, EndsAfterSoManyEpochsWithoutABetterOne) {
  const std::vector<double> accuracies = {.5, .6, .6, .59, .61, .3, .61, .2, .9};
  for (const auto& [patience, finished, best] :
       std::vector<std::tuple<std::uint32_t, std::size_t, std::uint32_t>>{
           {1, 3, 1}, {2, 4, 1}, {3, 8, 4}, {4, 9, 8}}) {
    Judged run(patient(patience));
    EXPECT_EQ(run.finish(accuracies), finished) << "patience " << patience;
    const TrainResult result = run.report();
    EXPECT_EQ(result.best_epoch, best);
    EXPECT_EQ(result.best_val_accuracy, accuracies[best]);
    EXPECT_EQ(result.stopped_early, patience < 4);
    EXPECT_EQ(run.parameter(), static_cast<float>(best)) << "the best epoch's model";
  }
}

TEST(Patience, CountsABetterEpochOnlyAboveTheDelta) {
  TrainOptions options = patient(2);
  options.min_delta = 0.125;
  Judged run(options);
  EXPECT_EQ(run.finish({.5, .625, .63, .7, .7, .9}), 5U);  // .63 is above .5 + .125, then nothing above .755
  EXPECT_EQ(run.report().best_epoch, 2U);
  EXPECT_EQ(run.parameter(), 2);
}

TEST(Patience, CountsEpochsAlsoWhenNotEachIsEvaluated) {
  TrainOptions options = patient(3);
  options.evaluate_every = 2;
  Judged run(options);
  // Epochs 1, 3, 5, … are evaluated. At 3 two epochs have passed since the best one, at 5 four.
  EXPECT_EQ(run.finish({.9, .5, .9, .4, .9, .4, .9, .9}), 6U);
  EXPECT_EQ(run.report().best_epoch, 1U);
}

TEST(Patience, GoesOnCountingAfterAResume) {
  const std::vector<double> accuracies = {.5, .7, .6, .6, .6, .6};
  for (std::size_t cut = 1; cut < 5; ++cut) {
    const auto folder = TemporaryDirectory::create("patience");
    TrainOptions options = patient(3);
    options.checkpoint_directory = folder->path() / "run";
    options.resume = true;
    {
      Judged first(options);
      ASSERT_EQ(first.finish({accuracies.begin(), accuracies.begin() + static_cast<std::ptrdiff_t>(cut)}),
                cut);
      first.report();
    }
    {
      Judged second(options);
      EXPECT_EQ(second.finish({accuracies.begin() + static_cast<std::ptrdiff_t>(cut), accuracies.end()}),
                5 - cut);
      const TrainResult result = second.report();
      EXPECT_EQ(result.best_epoch, 1U);
      EXPECT_EQ(result.best_val_accuracy, .7);
      EXPECT_TRUE(result.stopped_early);
      EXPECT_EQ(second.parameter(), 1) << "cut after " << cut;
    }
    EXPECT_EQ(Judged(options).finish({1}), 0U) << "what has ended early stays ended";
  }
}

TrainOptions stopping_run() {
  TrainOptions options = small_run(planted().partition(2));
  options.epochs = 60;
  options.patience = 3;
  options.evaluate = true;
  return options;
}

TEST(EarlyStopping, TheModelIsThatOfARunWhichEndsAfterTheBestEpoch) {
  const TimePoint start = steady_clock().now();
  const TrainResult result = train_all(stopping_run(), 2);
  const double wall = to_seconds(steady_clock().now() - start);
  EXPECT_TRUE(result.stopped_early);
  ASSERT_TRUE(result.best_epoch.has_value());
  ASSERT_EQ(result.epochs.size(), *result.best_epoch + 4U);
  EXPECT_EQ(result.val_accuracy, result.best_val_accuracy);
  double booked = 0;
  for (const EpochResult& epoch : result.epochs) {
    ASSERT_TRUE(epoch.val_accuracy.has_value());
    EXPECT_LE(*epoch.val_accuracy, result.best_val_accuracy);
    EXPECT_GT(epoch.evaluation_seconds, 0);
    booked += epoch.seconds + epoch.evaluation_seconds;
  }
  EXPECT_EQ(result.epochs[*result.best_epoch].val_accuracy, result.best_val_accuracy);
  EXPECT_LT(booked, wall) << "no time is booked twice";

  TrainOptions shorter = stopping_run();
  shorter.patience = 0;
  shorter.epochs = *result.best_epoch + 1;
  const TrainResult best = train_all(shorter, 2);
  EXPECT_EQ(best.model_digest, result.model_digest);
  EXPECT_EQ(best.val_accuracy, result.val_accuracy);
  EXPECT_EQ(best.test_accuracy, result.test_accuracy);
  EXPECT_EQ(best.best_epoch, std::nullopt);
}

TEST(EarlyStopping, AResumedRunEndsWhereTheWholeOneDoes) {
  TrainOptions options = stopping_run();
  const TrainResult whole = train_all(options, 2);
  const auto folder = TemporaryDirectory::create("early");
  options.checkpoint_directory = folder->path() / "run";
  options.checkpoint_steps = 5;
  options.resume = true;
  EXPECT_TRUE(interrupted(options, 2, 1).stopped);
  EXPECT_TRUE(interrupted(options, 2, *whole.best_epoch).stopped);
  EXPECT_TRUE(interrupted(options, 2, *whole.best_epoch + 1).stopped);
  for (int again = 0; again < 2; ++again) {  // the second one is only evaluated
    const TrainResult last = train_all(options, 2);
    EXPECT_EQ(last.loss_digest, whole.loss_digest);
    EXPECT_EQ(last.model_digest, whole.model_digest);
    EXPECT_EQ(last.best_epoch, whole.best_epoch);
    EXPECT_EQ(last.best_val_accuracy, whole.best_val_accuracy);
    EXPECT_EQ(last.test_accuracy, whole.test_accuracy);
    EXPECT_EQ(last.epochs.size(), whole.epochs.size());
    EXPECT_TRUE(last.stopped_early);
  }
}

TEST(EvaluateEvery, ReportsAndChangesNothing) {
  TrainOptions options = small_run(planted().partition(2));
  options.epochs = 5;
  options.evaluate = true;
  const TrainResult plain = train_all(options, 2);
  options.evaluate_every = 2;
  const TrainResult judged = train_all(options, 2);
  EXPECT_EQ(judged.loss_digest, plain.loss_digest);
  EXPECT_EQ(judged.model_digest, plain.model_digest);
  EXPECT_EQ(judged.test_accuracy, plain.test_accuracy);
  EXPECT_FALSE(judged.stopped_early);
  ASSERT_EQ(judged.epochs.size(), 5U);
  for (std::size_t e = 0; e < 5; ++e) {
    EXPECT_EQ(judged.epochs[e].val_accuracy.has_value(), e % 2 == 1) << e;
    EXPECT_FALSE(plain.epochs[e].val_accuracy.has_value());
    EXPECT_EQ(plain.epochs[e].evaluation_seconds, 0);
    EXPECT_EQ(judged.epochs[e].requests, plain.epochs[e].requests) << "evaluation counts no rows";
  }
}

TEST(EarlyStopping, SaysWhatItLacks) {
  const RankInfo two{.world = 2, .host = "here"};
  TrainOptions options = stopping_run();
  options.evaluate = false;
  EXPECT_THAT(error_of(options, two).message, HasSubstr("--no-evaluation"));
  options = stopping_run();
  options.patience = 0;
  options.min_delta = 0.1;
  EXPECT_THAT(error_of(options, two).message, HasSubstr("--min-delta 0.1"));
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  for (const NodeId v : data.val) {
    data.labels[static_cast<std::size_t>(v)] = -1;
  }
  PlantedCase unlabelled(data);
  options = stopping_run();
  options.partition = unlabelled.partition(2);
  EXPECT_THAT(error_of(options, two).message, HasSubstr("no validation node has a label"));
  data.val.clear();
  PlantedCase without(data);
  options.partition = without.partition(2);
  EXPECT_THAT(error_of(options, two).message, HasSubstr("no validation nodes"));
}

}  // namespace
}  // namespace rudder::train
