// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/sampler.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample/expander.h"
#include "sample/id_map.h"
#include "sample/test_graphs.h"
#include "support/chi_square.h"
#include "support/reference_sampler.h"
#include "support/same_batch.h"

namespace rudder::sample {
namespace {

using test::is_valid_sample;
using test::OwnedCsc;
using test::random_nodes;
using test::same_batch;
using test::skewed;
using test::star;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(NeighborSampler, TakesAHandWorkedGraphApart) {
  OwnedCsc graph;  // 0 <- {1,2,3}, 1 <- {4}, 2 <- {0,4}, 3 <- {}, 4 <- {0}
  graph.add_node({1, 2, 3});
  graph.add_node({4});
  graph.add_node({0, 4});
  graph.add_node({});
  graph.add_node({0});
  NeighborSampler sampler(graph.view(), {5, -1}, 1);
  SampledBatch batch;
  sampler.sample(std::vector<NodeId>{2, 3}, {.epoch = 1, .batch = 2, .rank = 3}, 77, batch);
  EXPECT_EQ(batch.key.epoch, 1U);
  EXPECT_EQ(batch.key.batch, 2U);
  EXPECT_EQ(batch.key.rank, 3U);
  EXPECT_EQ(batch.seeds, 2U);
  EXPECT_THAT(batch.nodes, ElementsAre(2, 3, 0, 4, 1));
  ASSERT_EQ(batch.layers.size(), 2U);
  EXPECT_EQ(batch.layers[1].destinations, 2U);
  EXPECT_EQ(batch.layers[1].sources, 4U);
  EXPECT_THAT(batch.layers[1].indptr, ElementsAre(0, 2, 2));
  EXPECT_THAT(batch.layers[1].indices, ElementsAre(2, 3));
  EXPECT_EQ(batch.layers[0].destinations, 4U);
  EXPECT_EQ(batch.layers[0].sources, 5U);
  EXPECT_THAT(batch.layers[0].indptr, ElementsAre(0, 2, 2, 5, 6));
  EXPECT_THAT(batch.layers[0].indices, ElementsAre(2, 3, 4, 0, 1, 2));
}

TEST(NeighborSampler, ReturnsValidSamplesForManyGraphsAndFanouts) {
  const std::vector<std::vector<int>> fanouts = {{10, 25}, {15, 10, 5}, {1},     {-1},   {5, -1},
                                                 {-1, 3},  {200, 100},  {0, 10}, {3, 0}, {}};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const OwnedCsc graph = skewed(2000, seed);
    for (const std::vector<int>& fanout : fanouts) {
      NeighborSampler sampler(graph.view(), fanout, seed);
      SampledBatch batch;
      for (std::uint32_t i = 0; i < 5; ++i) {
        const std::vector<NodeId> seeds = random_nodes(2000, 20 * i, seed + i);
        sampler.sample(seeds, {.batch = i}, i, batch);
        EXPECT_TRUE(is_valid_sample(graph.view(), seeds, fanout, batch))
            << "graph " << seed << ", fan-out " << ::testing::PrintToString(fanout) << ", batch " << i;
      }
    }
  }
}

TEST(NeighborSampler, GivesTheWholeNeighbourhoodWhenSeedsCoverTheGraph) {
  const OwnedCsc graph = skewed(3000, 9);
  const std::vector<NodeId> seeds = random_nodes(3000, 3000, 1);
  const std::vector<int> fanout = {-1, 10};
  NeighborSampler sampler(graph.view(), fanout, 1);
  SampledBatch batch;
  sampler.sample(seeds, {}, 0, batch);
  EXPECT_TRUE(is_valid_sample(graph.view(), seeds, fanout, batch));
  EXPECT_EQ(batch.nodes, seeds);
  EXPECT_EQ(batch.layers[1].indices.size(), graph.indices.size());
}

TEST(NeighborSampler, KeepsIsolatedSeedsWithoutNeighbours) {
  const OwnedCsc graph = star(100);
  NeighborSampler sampler(graph.view(), {4, 4}, 1);
  SampledBatch batch;
  sampler.sample(std::vector<NodeId>{50, 7, 99}, {}, 0, batch);
  EXPECT_THAT(batch.nodes, ElementsAre(50, 7, 99));
  EXPECT_THAT(batch.layers[0].indptr, ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(batch.layers[0].indices.empty());
  sampler.sample({}, {}, 1, batch);
  EXPECT_TRUE(batch.nodes.empty());
  EXPECT_THAT(batch.layers[1].indptr, ElementsAre(0));
}

TEST(NeighborSampler, DrawsEveryNeighbourEquallyOften) {
  constexpr int kFanout = 10;
  for (const std::int64_t degree : {1, 9, 10, 11, 64, 65, 32'767, 32'769, 40'000, 65'535, 65'537}) {
    const OwnedCsc graph = star(degree);
    NeighborSampler sampler(graph.view(), {kFanout}, 21);
    const std::uint64_t draws = static_cast<std::uint64_t>(std::max<std::int64_t>(degree, 2000));
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(degree));
    SampledBatch batch;
    const std::vector<NodeId> seeds = {0};
    for (std::uint64_t i = 0; i < draws; ++i) {
      sampler.sample(seeds, {}, i, batch);
      for (const LocalId local : batch.layers[0].indices) {
        ++counts[static_cast<std::size_t>(batch.nodes[local] - 1)];
      }
    }
    if (degree <= kFanout) {
      EXPECT_THAT(counts, ::testing::Each(draws)) << "degree " << degree;
    } else {
      EXPECT_LT(std::abs(test::uniformity_z(counts, draws, kFanout)), 4.0) << "degree " << degree;
    }
  }
}

TEST(NeighborSampler, DrawsNodesHopsBatchesEpochsAndSeedsIndependently) {
  // Two destinations with the same 40 neighbours, drawn one each: all 1600 pairs must be equally likely, for
  // two nodes of a hop, one node in two hops, two batches, two epochs and two seeds.
  constexpr std::uint64_t kDegree = 40;
  OwnedCsc graph;
  std::vector<NodeId> sources(kDegree);
  std::iota(sources.begin(), sources.end(), 2);
  graph.add_node(sources);
  graph.add_node(sources);
  graph.indptr.resize(kDegree + 3, graph.indptr.back());
  const std::vector<NodeId> both = {0, 1};
  constexpr std::uint64_t kDraws = 20'000;
  std::vector<std::vector<std::uint64_t>> pairs(5, std::vector<std::uint64_t>(kDegree * kDegree));
  NeighborSampler first(graph.view(), {1, 1}, 5);
  NeighborSampler second(graph.view(), {1, 1}, 6);
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const auto picked = [&](NeighborSampler& sampler, std::uint32_t epoch, std::uint64_t batch_number) {
      SampledBatch batch;
      sampler.sample(both, {.epoch = epoch}, batch_number, batch);
      const auto pick = [&](std::size_t layer, std::size_t d) {
        return static_cast<std::uint64_t>(batch.nodes[batch.layers[layer].indices[d]] - 2);
      };
      return std::vector<std::uint64_t>{pick(1, 0), pick(1, 1), pick(0, 0)};
    };
    const std::vector<std::uint64_t> base = picked(first, 0, 2 * i);
    ++pairs[0][base[0] * kDegree + base[1]];
    ++pairs[1][base[0] * kDegree + base[2]];
    ++pairs[2][base[0] * kDegree + picked(first, 0, 2 * i + 1)[0]];
    ++pairs[3][base[0] * kDegree + picked(first, 1, 2 * i)[0]];
    ++pairs[4][base[0] * kDegree + picked(second, 0, 2 * i)[0]];
  }
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    EXPECT_LT(std::abs(test::uniformity_z(pairs[k], kDraws, 1)), 4.0) << "pair of kind " << k;
  }
}

TEST(NeighborSampler, GivesTheSameBatchesInAnyOrderOnAnyObject) {
  const OwnedCsc graph = skewed(4000, 3);
  constexpr std::uint32_t kBatches = 12;
  std::vector<SampledBatch> expected(kBatches);
  NeighborSampler one(graph.view(), {10, 5}, 8);
  for (std::uint32_t i = 0; i < kBatches; ++i) {
    one.sample(random_nodes(4000, 64, i), {.batch = i}, i, expected[i]);
  }
  std::vector<NeighborSampler> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back(graph.view(), std::vector<int>{10, 5}, 8);
  }
  SampledBatch batch;
  for (const NodeId number : random_nodes(kBatches, kBatches, 2)) {
    const auto i = static_cast<std::uint32_t>(number);
    others[i % 3].sample(random_nodes(4000, 64, i), {.batch = i}, i, batch);
    EXPECT_TRUE(same_batch(batch, expected[i])) << "batch " << i;
  }
}

TEST(NeighborSampler, DrawsANodesNeighboursWhateverElseIsInTheBatch) {
  const OwnedCsc graph = skewed(4000, 4);
  NeighborSampler sampler(graph.view(), {7}, 8);
  const auto neighbours_of_first = [](const SampledBatch& batch) {
    std::vector<NodeId> result;
    for (std::uint32_t i = 0; i < batch.layers[0].indptr[1]; ++i) {
      result.push_back(batch.nodes[batch.layers[0].indices[i]]);
    }
    return result;
  };
  std::vector<NodeId> seeds = random_nodes(4000, 100, 5);
  SampledBatch batch;
  sampler.sample(seeds, {}, 3, batch);
  const std::vector<NodeId> expected = neighbours_of_first(batch);
  std::reverse(seeds.begin() + 1, seeds.end());
  seeds.resize(40);
  sampler.sample(seeds, {}, 3, batch);
  EXPECT_EQ(neighbours_of_first(batch), expected);
}

TEST(NeighborSampler, SamplesAlikeWithADenseMapAndWithATable) {
  const OwnedCsc graph = skewed(20'000, 6);
  for (const std::vector<int>& fanout : {std::vector<int>{15, 10, 5}, std::vector<int>{2, -1}}) {
    Expander<DenseIdMap> dense(graph.view(), fanout);
    Expander<HashIdMap> table(graph.view(), fanout);
    SampledBatch from_dense;
    SampledBatch from_table;
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::vector<NodeId> seeds = random_nodes(20'000, i % 2 == 0 ? 300 : 7, i);
      dense.expand(seeds, i, from_dense);
      table.expand(seeds, i, from_table);
      EXPECT_TRUE(same_batch(from_table, from_dense)) << "batch " << i;
      EXPECT_TRUE(is_valid_sample(graph.view(), seeds, fanout, from_table)) << "batch " << i;
    }
  }
}

TEST(NeighborSampler, AllocatesNothingForABatchSeenBefore) {
  const OwnedCsc graph = skewed(4000, 5);
  NeighborSampler sampler(graph.view(), {10, 10}, 8);
  const std::vector<NodeId> seeds = random_nodes(4000, 200, 5);
  SampledBatch batch;
  sampler.sample(seeds, {}, 3, batch);
  const SampledBatch first = batch;
  const NodeId* nodes = batch.nodes.data();
  const LocalId* indices = batch.layers[0].indices.data();
  for (int i = 0; i < 3; ++i) {
    sampler.sample(seeds, {}, 3, batch);
    EXPECT_EQ(batch.nodes.data(), nodes);
    EXPECT_EQ(batch.layers[0].indices.data(), indices);
    EXPECT_TRUE(same_batch(batch, first));
  }
}

TEST(NeighborSampler, ReusesABatchThatHadMoreLayers) {
  const OwnedCsc graph = skewed(1000, 5);
  const std::vector<NodeId> seeds = random_nodes(1000, 50, 5);
  NeighborSampler three(graph.view(), {9, 9, 9}, 8);
  NeighborSampler one(graph.view(), {2}, 8);
  SampledBatch reused;
  SampledBatch fresh;
  three.sample(seeds, {}, 1, reused);
  one.sample(seeds, {}, 1, reused);
  one.sample(seeds, {}, 1, fresh);
  EXPECT_TRUE(same_batch(reused, fresh));
}

TEST(NeighborSamplerDeathTest, RefusesRepeatedSeeds) {
  const OwnedCsc graph = star(5);
  NeighborSampler sampler(graph.view(), {2}, 1);
  SampledBatch batch;
  EXPECT_DEATH(sampler.sample(std::vector<NodeId>{1, 2, 1}, {}, 0, batch), "seeds must be distinct");
}

}  // namespace
}  // namespace rudder::sample
