// SPDX-License-Identifier: Apache-2.0
// Ranks whose numbers of training nodes differ wildly take the same steps and end together.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "train/planted_case.h"
#include "train/small_run.h"

namespace rudder::train {
namespace {

using testing_support::interrupted;
using testing_support::PlantedCase;
using testing_support::small_run;
using testing_support::train_all;

constexpr graph::PartitionOptions kCut{.parts = 3, .method = graph::PartitionMethod::kHash};

/// Training nodes: a hundred in part 0, three in part 1, none in part 2.
PlantedCase& uneven() {
  static PlantedCase shared([] {
    auto data = graph::generate_graph("planted", PlantedCase::small()).value();
    PlantedCase even(data);
    const auto parts = graph::assign_parts(graph::Graph::open(even.folder()).value(), kCut).value();
    std::vector<std::size_t> left = {101, 4, 1};
    std::erase_if(data.train, [&](NodeId v) {
      std::size_t& room = left[parts[static_cast<std::size_t>(v)]];
      room -= room > 0 ? 1 : 0;
      return room == 0;
    });
    return data;
  }());
  return shared;
}

std::filesystem::path uneven_parts() {
  const std::filesystem::path out = uneven().scratch() / "hashed";
  if (!std::filesystem::exists(out)) {
    const auto graph = graph::Graph::open(uneven().folder()).value();
    EXPECT_TRUE(graph::partition_graph(graph, kCut, out, {}).ok());
  }
  return out;
}

TEST(UnevenRanks, HaveTheMeanLossOfOneRankWithAllNodes) {
  TrainOptions options = small_run(uneven_parts());
  options.fanout = {-1, -1};
  options.dropout = 0;
  options.batch = 10'000;  // one step an epoch
  const TrainResult three = train_all(options, 3);
  options.partition = uneven().partition(1);
  const TrainResult one = train_all(options, 1);
  ASSERT_EQ(three.epochs.size(), 3U);
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_NEAR(three.epochs[e].loss, one.epochs[e].loss, 1e-4);
  }
}

TEST(UnevenRanks, EndTogetherUnderEveryPolicyWithTheSameLosses) {
  TrainOptions options = small_run(uneven_parts());
  options.batch = 10;
  options.policy = "none";
  options.depth = 0;
  const TrainResult expected = train_all(options, 3);
  ASSERT_EQ(expected.step_losses.size(), 30U);
  ASSERT_EQ(expected.by_rank.size(), 3U);
  EXPECT_GT(expected.by_rank[1].requests, 0U);
  EXPECT_EQ(expected.by_rank[2].requests, 0U) << "a rank without seeds needs no rows";
  options.depth = 4;
  for (const char* policy : {"fixed-window", "degree", "vip", "lru", "lfu", "clock", "sieve", "s3fifo",
                             "score", "hotset", "lookahead"}) {
    options.policy = policy;
    const TrainResult got = train_all(options, 3);
    EXPECT_EQ(got.loss_digest, expected.loss_digest) << policy;
    EXPECT_EQ(got.model_digest, expected.model_digest) << policy;
  }
}

TEST(UnevenRanks, AccumulateEvaluateAndResume) {
  for (const char* model : {"sage", "gcn", "gat"}) {
    TrainOptions options = small_run(uneven_parts());
    options.model = model;
    options.batch = 4;
    options.accumulate = 3;
    options.evaluate = true;
    const TrainResult whole = train_all(options, 3);
    EXPECT_GT(whole.test_accuracy, 0.5);
    const auto folder = TemporaryDirectory::create("uneven");
    options.checkpoint_directory = folder->path() / "run";
    options.checkpoint_steps = 4;
    options.resume = true;
    EXPECT_TRUE(interrupted(options, 3, 0).stopped);
    EXPECT_EQ(train_all(options, 3).loss_digest, whole.loss_digest) << model;
  }
}

}  // namespace
}  // namespace rudder::train
