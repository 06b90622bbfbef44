// SPDX-License-Identifier: Apache-2.0
#include "train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

#include "train/literal_models.h"
#include "train/neighborhood.h"
#include "train/planted_case.h"
#include "train/score.h"

namespace rudder::train {
namespace {

using testing_support::Dense;
using testing_support::LiteralModel;
using testing_support::PlantedCase;

constexpr std::size_t kHidden = 12;
constexpr std::size_t kHeads = 3;

graph::GeneratorOptions small_graph() {
  return {.seed = 5,
          .features = 10,
          .edge_factor = 4,
          .nodes = 500,
          .classes = 4,
          .mixing = 0.3,
          .train_share = 0.2};
}

enum class Labels : unsigned char { kOne, kSeveral };

PlantedCase& planted(Labels labels) {
  static PlantedCase one(small_graph());
  static PlantedCase several([] {
    graph::GeneratorOptions options = small_graph();
    options.multi_label = true;
    return options;
  }());
  return labels == Labels::kOne ? one : several;
}

graph::Graph open_planted(Labels labels) {
  auto graph = graph::Graph::open(planted(labels).folder());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(graph).value();
}

std::unique_ptr<Learner> make_learner(const std::string& model) {
  auto learner = Learner::create({.model = model,
                                  .features = 10,
                                  .hidden = kHidden,
                                  .classes = 4,
                                  .layers = 3,
                                  .heads = kHeads,
                                  .seed = 8});
  EXPECT_TRUE(learner.ok()) << learner.error().message;
  return std::move(learner).value();
}

/// The whole graph as one message-flow graph.
sample::Mfg whole(const graph::CscView& topology) {
  sample::Mfg mfg;
  mfg.destinations = static_cast<LocalId>(topology.nodes());
  mfg.sources = mfg.destinations;
  mfg.indptr.assign(topology.indptr.begin(), topology.indptr.end());
  mfg.indices.assign(topology.indices.begin(), topology.indices.end());
  return mfg;
}

double literal_accuracy(const Dense& outputs, const graph::Graph& graph, std::span<const NodeId> split) {
  double right = 0;
  for (const NodeId v : split) {
    const auto row =
        std::span(outputs.values).subspan(static_cast<std::size_t>(v) * outputs.columns, outputs.columns);
    right += std::ranges::max_element(row) - row.begin() == graph.labels()[static_cast<std::size_t>(v)] ? 1.0
                                                                                                        : 0.0;
  }
  return right / static_cast<double>(split.size());
}

/// From counts a class, as its definition has it.
double literal_micro_f1(const Dense& outputs, const graph::Graph& graph, std::span<const NodeId> split) {
  double true_positives = 0;
  double false_positives = 0;
  double false_negatives = 0;
  for (std::size_t c = 0; c < outputs.columns; ++c) {
    for (const NodeId v : split) {
      const bool predicted = 1 / (1 + std::exp(-outputs.at(static_cast<std::size_t>(v), c))) > 0.5;
      const bool there = graph.label_row(v)[c] == 1;
      true_positives += predicted && there ? 1 : 0;
      false_positives += predicted && !there ? 1 : 0;
      false_negatives += !predicted && there ? 1 : 0;
    }
  }
  const double precision = true_positives / (true_positives + false_positives);
  const double recall = true_positives / (true_positives + false_negatives);
  return 2 * precision * recall / (precision + recall);
}

Accuracy literal_evaluation(const std::string& model, Labels labels) {
  const graph::Graph graph = open_planted(labels);
  const auto learner = make_learner(model);
  const std::vector<double> parameters(learner->parameters().begin(), learner->parameters().end());
  std::vector<float> features(graph.features().size() / sizeof(float));
  std::memcpy(features.data(), graph.features().data(), graph.features().size());
  std::vector<NodeId> all(static_cast<std::size_t>(graph.meta().nodes));
  std::iota(all.begin(), all.end(), NodeId{0});
  std::vector<float> degrees;
  degrees_without_loops(graph.topology(), all, degrees);
  const sample::Mfg mfg = whole(graph.topology());
  const LiteralModel literal{model, 10, kHidden, 4, kHeads};
  const Dense outputs =
      literal.forward({mfg, mfg, mfg}, degrees, Dense(all.size(), 10, features), parameters);
  if (labels == Labels::kSeveral) {
    return {literal_micro_f1(outputs, graph, graph.val()), literal_micro_f1(outputs, graph, graph.test())};
  }
  return {literal_accuracy(outputs, graph, graph.val()), literal_accuracy(outputs, graph, graph.test())};
}

/// One rank's part of an evaluation.
Result<Accuracy> evaluate_rank(const graph::PartitionedGraph& graph, Rank rank, Rank world,
                               transport::Rendezvous& store, std::unique_ptr<transport::Transport> transport,
                               const Secret& secret, const std::string& model,
                               const EvaluationOptions& options) {
  RUDDER_ASSIGN(const graph::Part part, graph.open_part(rank));
  std::unique_ptr<dataplane::Plane> plane;
  RUDDER_ASSIGN(plane,
                dataplane::Plane::create(graph, std::move(transport), store,
                                         {.rank = rank, .world = world, .host = "h", .secret = secret}));
  plane->publish(0, part.features(), graph.row_bytes());
  RUDDER_ASSIGN(const auto collective,
                make_collective({.rank = rank, .world = world, .host = "h"}, store, from_seconds(20)));
  const auto learner = make_learner(model);
  RUDDER_TRY(collective->barrier());
  RUDDER_ASSIGN(const StructureAccess structure,
                StructureAccess::open(graph, *plane, rank, DegreeUse::kAllNodes));
  RUDDER_ASSIGN(const Accuracy accuracy,
                evaluate(graph, part, *plane, *collective, *learner, structure, options));
  RUDDER_TRY(collective->barrier());
  return accuracy;
}

Accuracy evaluate_all(Rank world, const std::string& model, const EvaluationOptions& options = {},
                      Labels labels = Labels::kOne) {
  auto graph = graph::PartitionedGraph::open(planted(labels).partition(world));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  const auto local_store = std::make_shared<transport::LocalRendezvous>();
  transport::Rendezvous& store = *local_store;
  const Secret secret;
  auto transports = transport::make_loopback_transports(world);
  std::vector<Accuracy> results(world);
  {
    std::vector<std::jthread> ranks;
    for (Rank rank = 0; rank < world; ++rank) {
      ranks.emplace_back([&, rank] {
        auto result =
            evaluate_rank(*graph, rank, world, store, std::move(transports[rank]), secret, model, options);
        ASSERT_TRUE(result.ok()) << result.error().message;
        results[rank] = *result;
      });
    }
  }
  for (const Accuracy& result : results) {
    EXPECT_EQ(result.val, results[0].val);
    EXPECT_EQ(result.test, results[0].test);
  }
  return results[0];
}

// Rounding may turn one near-tie.
constexpr double kOneNode = 1.01 / 200;

class EvaluationOf : public ::testing::TestWithParam<std::tuple<const char*, Rank>> {};

TEST_P(EvaluationOf, EqualsDenseInferenceOnTheWholeGraph) {
  const auto& [model, world] = GetParam();
  const Accuracy expected = literal_evaluation(model, Labels::kOne);
  const Accuracy got = evaluate_all(world, model);
  EXPECT_NEAR(got.val, expected.val, kOneNode);
  EXPECT_NEAR(got.test, expected.test, kOneNode);
}

INSTANTIATE_TEST_SUITE_P(ModelsAndWorlds, EvaluationOf,
                         ::testing::Combine(::testing::Values("sage", "gcn", "gat"),
                                            ::testing::Values(1, 2, 4)));

TEST(Evaluation, GivesMicroF1WhereNodesHaveSeveralClasses) {
  for (const Rank world : {Rank{1}, Rank{2}}) {
    const Accuracy expected = literal_evaluation("sage", Labels::kSeveral);
    const Accuracy got = evaluate_all(world, "sage", {}, Labels::kSeveral);
    EXPECT_NEAR(got.val, expected.val, kOneNode);
    EXPECT_NEAR(got.test, expected.test, kOneNode);
    EXPECT_GT(expected.val, 0.1);
    EXPECT_LT(expected.val, 0.9) << "the untrained model gets some of it right and some wrong";
  }
}

TEST(Score, AddsUpByHand) {
  const std::vector<float> outputs = {0.5F, -1, 2, 0};
  Score score;
  score.add_class(outputs, 2);
  score.add_class(outputs, 0);
  score.add_class(outputs, -1);
  EXPECT_EQ(score.part, 1U);
  EXPECT_EQ(score.whole, 2U);
  Score f1;                                                        // found: classes 0 and 2
  f1.add_classes(outputs, std::vector<std::uint8_t>{1, 1, 0, 0});  // one right, one false, one missed
  EXPECT_DOUBLE_EQ(f1.share(), 2.0 / 4);
  f1.add_classes(outputs, std::vector<std::uint8_t>{1, 0, 1, 0});  // both right
  EXPECT_DOUBLE_EQ(f1.share(), 6.0 / 8);
  f1.add_classes(std::vector<float>{-1, -1}, std::vector<std::uint8_t>{0, 0});
  EXPECT_DOUBLE_EQ(f1.share(), 6.0 / 8) << "what is rightly not found does not count";
  EXPECT_EQ(Score{}.share(), 0);
}

TEST(Evaluation, DoesNotDependOnTheSizeOfChunks) {
  const Accuracy whole_part = evaluate_all(2, "sage");
  const Accuracy small_chunks = evaluate_all(2, "sage", {.chunk_floats = 300});
  EXPECT_NEAR(small_chunks.val, whole_part.val, kOneNode);
  EXPECT_NEAR(small_chunks.test, whole_part.test, kOneNode);
}

}  // namespace
}  // namespace rudder::train
