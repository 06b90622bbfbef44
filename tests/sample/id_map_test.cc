// SPDX-License-Identifier: Apache-2.0
#include "sample/id_map.h"

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::sample {
namespace {

template <class Map>
class IdMap : public ::testing::Test {};
using Maps = ::testing::Types<DenseIdMap, HashIdMap>;
TYPED_TEST_SUITE(IdMap, Maps);

constexpr NodeId kNodes = 30'000;

/// Inserts random nodes, some often, and compares with std::map.
template <class Map>
void run_batch(Map& map, std::uint64_t key, std::size_t finds) {
  std::vector<NodeId> nodes(finds + 1);
  std::size_t known = 0;
  std::map<NodeId, LocalId> reference;
  std::vector<NodeId> order;
  CounterRng rng{key};
  map.begin_batch();
  for (std::size_t i = 0; i < finds; ++i) {
    const auto node = static_cast<NodeId>(rng.below(rng.below(2) == 0 ? kNodes : 50));
    const auto [entry, fresh] = reference.emplace(node, static_cast<LocalId>(reference.size()));
    if (fresh) {
      order.push_back(node);
    }
    map.reserve(nodes.data(), known, 1);
    ASSERT_EQ(map.find_or_insert(node, nodes.data(), known), entry->second)
        << "key " << key << ", find " << i;
    ASSERT_EQ(known, reference.size());
  }
  nodes.resize(known);
  EXPECT_EQ(nodes, order);
}

TYPED_TEST(IdMap, NumbersNodesInOrderOfFirstAppearance) {
  TypeParam map(kNodes);
  run_batch(map, 1, 40'000);
}

TYPED_TEST(IdMap, ForgetsEarlierBatches) {
  TypeParam map(kNodes);
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    run_batch(map, batch, batch % 3 == 0 ? 10 : 5000);
  }
}

TYPED_TEST(IdMap, ForgetsEarlierBatchesWhenTheStampWraps) {
  TypeParam map(kNodes, std::numeric_limits<std::uint32_t>::max() - 3);
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    run_batch(map, batch, 1500);
  }
}

TEST(HashIdMap, TakesIdsThatCollideAndIdsOfHugeGraphs) {
  HashIdMap map(0);
  map.begin_batch();
  std::vector<NodeId> nodes(10'001);
  std::size_t known = 0;
  for (LocalId i = 0; i < 10'000; ++i) {
    const NodeId node = (NodeId{i} << 40) + 3;
    map.reserve(nodes.data(), known, 1);
    ASSERT_EQ(map.find_or_insert(node, nodes.data(), known), i);
    ASSERT_EQ(map.find_or_insert(node, nodes.data(), known), i);
  }
}

}  // namespace
}  // namespace rudder::sample
