// SPDX-License-Identifier: Apache-2.0
#include "train/stepper.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

#include "train/planted_case.h"
#include "train/small_run.h"
#include "train/structure_access.h"

namespace rudder::train {
namespace {

using ::testing::ElementsAre;
using testing_support::interrupted;
using testing_support::planted;
using testing_support::PlantedCase;
using testing_support::small_run;
using testing_support::train_all;

TEST(StepGroups, CutEachEpochWithAShortLastGroup) {
  const StepGroups groups{.batches = 8, .group = 3};
  EXPECT_EQ(groups.steps_per_epoch(), 3U);
  std::vector<std::uint64_t> first;
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t step = 0; step < 6; ++step) {
    first.push_back(groups.first_in_run(step));
    sizes.push_back(groups.size(step));
    EXPECT_EQ(groups.epoch(step), step / 3);
  }
  EXPECT_THAT(first, ElementsAre(0, 3, 6, 8, 11, 14));
  EXPECT_THAT(sizes, ElementsAre(3, 3, 2, 3, 3, 2));
  EXPECT_EQ((StepGroups{.batches = 2, .group = 100}).size(5), 2U);
  EXPECT_EQ((StepGroups{.batches = 7, .group = 1}).first_in_run(20), 20U);
}

/// A whole graph in one part with all neighbours sampled: seeds can be batched in any way.
class WholeGraph {
 public:
  explicit WholeGraph(const TrainOptions& options)
      : graph_(graph::PartitionedGraph::open(options.partition).value()),
        part_(graph_.open_part(0).value()),
        schedule_(sample::Schedule::create(options.seed, options.batch, {graph_.train(0)}).value()),
        sampler_(graph_.topology(), {-1, -1}, options.seed) {}

  [[nodiscard]] dataplane::Batch batch_of(std::span<const NodeId> seeds, sample::BatchKey key) {
    dataplane::Batch batch;
    sampler_.sample(seeds, key, schedule_.global_batch(key), batch.sampled);
    batch.rows.ensure(batch.sampled.nodes.size() * graph_.row_bytes());
    for (std::size_t i = 0; i < batch.sampled.nodes.size(); ++i) {
      const auto row = static_cast<std::size_t>(batch.sampled.nodes[i]) * graph_.row_bytes();
      std::memcpy(batch.rows.data() + i * graph_.row_bytes(), part_.features().data() + row,
                  graph_.row_bytes());
    }
    for (const NodeId v : seeds) {
      batch.labels.push_back(part_.labels()[static_cast<std::size_t>(v)]);
    }
    batch.counts.requests = 1;
    return batch;
  }
  [[nodiscard]] const graph::PartitionedGraph& graph() const { return graph_; }
  [[nodiscard]] const sample::Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const graph::Part& part() const { return part_; }
  [[nodiscard]] std::span<const std::int64_t> labels() const { return part_.labels(); }

 private:
  graph::PartitionedGraph graph_;
  graph::Part part_;
  sample::Schedule schedule_;
  sample::NeighborSampler sampler_;
};

class ScheduledBatches final : public dataplane::BatchSource {
 public:
  explicit ScheduledBatches(WholeGraph& graph) : graph_(graph) {}
  std::uint64_t total() const override { return graph_.schedule().steps_per_epoch(); }
  Result<dataplane::Batch> next() override {
    const sample::BatchKey key{.batch = next_++};
    return graph_.batch_of(graph_.schedule().seeds(key), key);
  }
  void recycle(dataplane::Batch /*batch*/) override {}

 private:
  WholeGraph& graph_;
  std::uint32_t next_ = 0;
};

/// One rank that remembers what it was asked to sum.
class SpyingCollective final : public Collective {
 public:
  Rank rank() const override { return 0; }
  Rank world() const override { return 1; }
  Status start_sum(std::span<float> values) override {
    sums.emplace_back(values.begin(), values.end());
    return {};
  }
  Status finish_sums() override { return {}; }
  Status sum(std::span<double> /*values*/) override { return {}; }
  Status sum(std::span<std::uint64_t> /*values*/) override { return {}; }
  Status max(std::span<std::uint64_t> /*values*/) override { return {}; }
  Status barrier() override { return {}; }
  void set_peer_check(std::function<Status()> /*check*/) override {}

  std::vector<std::vector<float>> sums;
};

std::unique_ptr<Learner> make_learner(const WholeGraph& graph) {
  const graph::GraphMeta& meta = graph.graph().meta();
  return Learner::create({.features = meta.features,
                          .hidden = 16,
                          .classes = static_cast<std::size_t>(meta.classes),
                          .learning_rate = {.peak = 1e-6},  // all gradients are of nearly the same model
                          .dropout = 0})
      .value();
}

/// Which seeds of the first epoch have no label.
struct LabelCase {
  const char* name;
  bool (*ignored)(std::uint32_t batch, std::size_t seed);
  friend void PrintTo(const LabelCase& c, std::ostream* out) { *out << c.name; }
};

/// The planted graph with these labels taken away, in one part.
PlantedCase planted_with(const LabelCase& labels, const TrainOptions& options) {
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  const auto schedule = sample::Schedule::create(options.seed, options.batch, {data.train}).value();
  for (std::uint32_t b = 0; b < schedule.steps_per_epoch(); ++b) {
    const std::vector<NodeId> seeds = schedule.seeds({.batch = b});
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      if (labels.ignored(b, i)) {
        data.labels[static_cast<std::size_t>(seeds[i])] = -1;
      }
    }
  }
  return PlantedCase(data);
}

class StepperWith : public ::testing::TestWithParam<LabelCase> {};

TEST_P(StepperWith, AGroupOfBatchesHasTheGradientOfOneBatchOfItsLabelledSeeds) {
  TrainOptions options = small_run({});
  options.batch = 43;  // 8 batches of 40: groups of 3, 3 and 2
  options.accumulate = 3;
  PlantedCase planted = planted_with(GetParam(), options);
  options.partition = planted.partition(1);
  WholeGraph whole(options);
  const std::uint32_t batches = whole.schedule().steps_per_epoch();
  ASSERT_EQ(batches, 8U);
  const auto learner = make_learner(whole);
  const auto literal = make_learner(whole);
  const RankInfo who;
  RunProgress progress(options, who, whole.graph(), {.batches = batches, .group = 3});
  SpyingCollective collective;
  LabelledSeeds seeds = LabelledSeeds::create(whole.schedule(), {0, whole.labels()}, collective).value();
  ASSERT_TRUE(seeds.begin_epoch(0, collective).ok());
  ScheduledBatches feed(whole);
  transport::LocalRendezvous rendezvous;
  const auto plane =
      std::move(dataplane::Plane::create(
                    whole.graph(), std::move(transport::make_loopback_transports(1).front()), rendezvous, {}))
          .value();
  const auto structure = StructureAccess::open(whole.graph(), *plane, 0, DegreeUse::kNone).value();
  Stepper stepper({.options = options,
                   .graph = whole.graph(),
                   .part = whole.part(),
                   .seeds = seeds,
                   .learner = *learner,
                   .collective = collective,
                   .progress = progress,
                   .structure = structure});
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::vector<float> before(learner->parameters().begin(), learner->parameters().end());
    std::vector<NodeId> labelled;
    for (std::uint32_t b = step * 3; b < std::min(step * 3 + 3, batches); ++b) {
      std::ranges::copy_if(whole.schedule().seeds({.batch = b}), std::back_inserter(labelled),
                           [&](NodeId v) { return whole.labels()[static_cast<std::size_t>(v)] >= 0; });
    }
    EXPECT_EQ(seeds.of_group(step * 3, step < 2 ? 3 : 2), labelled.size());
    const dataplane::Batch one = whole.batch_of(labelled, {});
    const auto loss = static_cast<double>(
        literal->learn({.batch = &one.sampled, .rows = one.rows.data(), .labels = one.labels}).value());
    StepSums sums;
    const TimePoint start = steady_clock().now();
    const TimePoint end = stepper.step(feed, start, sums).value();
    // The parts are cut at shared points in time, whatever the number of batches.
    EXPECT_NEAR(sums.times.total(), to_seconds(end - start), 1e-9);
    EXPECT_EQ(sums.counts.requests, step < 2 ? 3U : 2U);
    ASSERT_EQ(collective.sums.size(), step + 1) << "one sum over ranks a step";
    const std::vector<float>& summed = collective.sums.back();
    EXPECT_NEAR(static_cast<double>(summed[summed.size() - Learner::kPassengers]), loss, 1e-5);
    for (std::size_t i = 0; i < literal->gradient().size(); ++i) {
      ASSERT_NEAR(static_cast<double>(summed[i]), static_cast<double>(literal->gradient()[i]), 2e-6)
          << "step " << step << ", parameter " << i;
    }
    if (!labelled.empty()) {
      literal->update();
    }
    EXPECT_EQ(std::ranges::equal(before, learner->parameters()), labelled.empty())
        << "a step without labels, and no other, leaves the model as it is";
  }
  EXPECT_EQ(progress.epoch(), 1U);
  EXPECT_EQ(stepper.hit_rates().size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(
    Labels, StepperWith,
    ::testing::Values(LabelCase{"all", [](std::uint32_t, std::size_t) { return false; }},
                      LabelCase{"some", [](std::uint32_t b, std::size_t i) { return (b + i) % 3 == 0; }},
                      LabelCase{"no batch 1", [](std::uint32_t b, std::size_t) { return b == 1; }},
                      LabelCase{"no second group",
                                [](std::uint32_t b, std::size_t) { return b >= 3 && b < 6; }}));

/// Two parts with 96 training nodes each.
std::filesystem::path even_partition() {
  const std::filesystem::path out = planted().scratch() / "even-parts";
  if (std::filesystem::exists(out)) {
    return out;
  }
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  const graph::PartitionOptions cut{.parts = 2, .method = graph::PartitionMethod::kHash};
  const auto parts = graph::assign_parts(graph::Graph::open(planted().folder()).value(), cut).value();
  std::vector<std::size_t> taken(2);
  std::erase_if(data.train, [&](NodeId v) { return ++taken[parts[static_cast<std::size_t>(v)]] > 96; });
  EXPECT_TRUE(graph::write_graph(planted().scratch() / "even", data).ok());
  const auto graph = graph::Graph::open(planted().scratch() / "even").value();
  EXPECT_TRUE(graph::partition_graph(graph, cut, out, {}).ok());
  return out;
}

TEST(Accumulation, FourBatchesLearnAsOneOfFourTimesTheSizeOverTwoRanks) {
  TrainOptions options = small_run(even_partition());
  options.fanout = {-1, -1};
  options.dropout = 0;
  options.batch = 48;
  options.schedule = "linear";
  options.warmup_steps = 2;
  options.weight_decay = 0.01;
  options.clip_norm = 1;
  const TrainResult one = train_all(options, 2);
  options.batch = 12;
  options.accumulate = 4;
  const TrainResult four = train_all(options, 2);
  ASSERT_EQ(one.step_losses.size(), 6U);
  ASSERT_EQ(four.step_losses.size(), 6U);
  ASSERT_EQ(four.step_hit_rates.size(), 6U);
  for (std::size_t step = 0; step < 6; ++step) {
    EXPECT_NEAR(four.step_losses[step], one.step_losses[step], 1e-4) << "step " << step;
  }
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_NEAR(four.epochs[e].loss, one.epochs[e].loss, 1e-4) << "epoch " << e;
  }
  EXPECT_LT(one.step_losses.back(), 0.9 * one.step_losses.front());  // there was something to get wrong
}

TEST(Accumulation, ResumesBitForBitAtABorderBetweenGroups) {
  TrainOptions options = small_run(planted().partition(2));
  options.batch = 20;
  options.accumulate = 3;
  options.epochs = 4;
  options.schedule = "cosine";
  const TrainResult whole = train_all(options, 2);
  const auto folder = TemporaryDirectory::create("accumulate");
  options.checkpoint_directory = folder->path() / "run";
  options.checkpoint_steps = 2;
  options.resume = true;
  EXPECT_TRUE(interrupted(options, 2, 1).stopped);
  options.threads = 2;
  const TrainResult last = train_all(options, 2);
  EXPECT_EQ(last.loss_digest, whole.loss_digest);
  EXPECT_EQ(last.model_digest, whole.model_digest);
  options.accumulate = 2;
  EXPECT_THAT(testing_support::error_of(options, {.world = 2, .host = "here"}).message,
              ::testing::HasSubstr("accumulate was 3, is 2"));
}

TEST(IgnoredLabels, ARankThatHasNoOthersTakesPartWithoutWeight) {
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  const graph::PartitionOptions cut{.parts = 2, .method = graph::PartitionMethod::kHash};
  const auto parts = graph::assign_parts(graph::Graph::open(planted().folder()).value(), cut).value();
  for (const NodeId v : data.train) {
    if (parts[static_cast<std::size_t>(v)] == 1) {
      data.labels[static_cast<std::size_t>(v)] = -1;
    }
  }
  PlantedCase ignoring(data);
  const auto out = ignoring.scratch() / "hashed";
  const auto graph = graph::Graph::open(ignoring.folder()).value();
  ASSERT_TRUE(graph::partition_graph(graph, cut, out, {}).ok());
  TrainOptions options = small_run(out);
  options.fanout = {-1, -1};
  options.dropout = 0;
  options.batch = 10'000;  // one step an epoch: the loss is the mean over all labelled training nodes
  const TrainResult two = train_all(options, 2);
  options.partition = ignoring.partition(1);
  const TrainResult one = train_all(options, 1);
  ASSERT_EQ(two.epochs.size(), 3U);
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_NEAR(two.epochs[e].loss, one.epochs[e].loss, 1e-4);
    EXPECT_NEAR(two.step_losses[e], two.epochs[e].loss, 1e-6) << "rank 0 has all labels";
  }
}

TEST(IgnoredLabels, ResumeBitForBitInTheMiddleOfAnEpoch) {
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  for (std::size_t i = 0; i < data.train.size(); i += i % 3 == 0 ? 1 : 2) {
    data.labels[static_cast<std::size_t>(data.train[i])] = -1;
  }
  PlantedCase ignoring(data);
  TrainOptions options = small_run(ignoring.partition(2));
  options.batch = 3;
  options.accumulate = 2;
  options.evaluate = true;
  const TrainResult whole = train_all(options, 2);
  EXPECT_GT(whole.test_accuracy, 0.7);
  const auto folder = TemporaryDirectory::create("ignored");
  options.checkpoint_directory = folder->path() / "run";
  options.checkpoint_steps = 7;
  options.resume = true;
  EXPECT_TRUE(interrupted(options, 2, 0).stopped);
  const TrainResult last = train_all(options, 2);
  EXPECT_EQ(last.loss_digest, whole.loss_digest);
  EXPECT_EQ(last.model_digest, whole.model_digest);
  EXPECT_EQ(last.epochs.back().loss, whole.epochs.back().loss);
}

TEST(IgnoredLabels, ARunWithoutAnyLabelIsRefused) {
  auto data = graph::generate_graph("planted", PlantedCase::small()).value();
  for (const NodeId v : data.train) {
    data.labels[static_cast<std::size_t>(v)] = -1;
  }
  PlantedCase unlabelled(data);
  const Error error =
      testing_support::error_of(small_run(unlabelled.partition(2)), {.world = 2, .host = "here"});
  EXPECT_EQ(error.code, Errc::kInvalidData);
  EXPECT_THAT(error.message, ::testing::HasSubstr("no training node has a label"));
}

}  // namespace
}  // namespace rudder::train
