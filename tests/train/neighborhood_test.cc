// SPDX-License-Identifier: Apache-2.0
#include "train/neighborhood.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/graph_cases.h"

namespace rudder::train {
namespace {

/// 500 nodes with up to 12 random in-neighbours each, sorted.
struct Topology {
  std::vector<EdgeIndex> indptr = {0};
  std::vector<NodeId> indices;

  Topology() {
    const sample::Mfg mfg = testing_support::random_mfg(60, 500, 500, 12);
    for (LocalId v = 0; v < mfg.destinations; ++v) {
      std::vector<NodeId> row(mfg.indices.begin() + mfg.indptr[v], mfg.indices.begin() + mfg.indptr[v + 1]);
      std::ranges::sort(row);
      indices.insert(indices.end(), row.begin(), row.end());
      indptr.push_back(static_cast<EdgeIndex>(indices.size()));
    }
  }
};

TEST(Degrees, LeaveSelfLoopsOut) {
  const std::vector<EdgeIndex> indptr = {0, 2, 3, 3};
  const std::vector<NodeId> indices = {0, 1, 0};
  std::vector<float> degrees;
  const std::vector<NodeId> nodes = {2, 0, 1};
  degrees_without_loops({indptr, indices}, nodes, degrees);
  EXPECT_THAT(degrees, ::testing::ElementsAre(0, 1, 1));
}

class NeighborhoodsOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(NeighborhoodsOf, HoldEveryDestinationOnceWithAllItsNeighbours) {
  const std::size_t most = GetParam();
  const Topology given;
  const graph::CscView topology{given.indptr, given.indices};
  const NodeId begin = 100;
  const NodeId end = 300;
  const graph::CscSlice own{begin, {topology.indptr.subspan(begin, end - begin + 1), topology.indices}};
  NeighborhoodBuilder builder(own, topology.nodes());
  std::vector<NodeId> destinations;
  for (NodeId v = begin; v < end; v += 3) {
    destinations.push_back(v);
  }
  std::size_t done = 0;
  while (done < destinations.size()) {
    Neighborhood around;
    const std::size_t taken = builder.build(std::span(destinations).subspan(done), most, around);
    ASSERT_GE(taken, 1U);
    ASSERT_EQ(around.destinations, taken);
    EXPECT_TRUE(taken == 1 || around.nodes.size() <= most);
    EXPECT_EQ(std::set<NodeId>(around.nodes.begin(), around.nodes.end()).size(), around.nodes.size());
    EXPECT_TRUE(std::ranges::is_sorted(around.remote_nodes()));
    for (std::size_t i = 0; i < around.nodes.size(); ++i) {
      const bool remote = around.nodes[i] < begin || around.nodes[i] >= end;
      EXPECT_EQ(remote, i >= taken && i < taken + around.remote) << "node " << around.nodes[i];
    }
    for (std::size_t d = 0; d < taken; ++d) {
      EXPECT_EQ(around.nodes[d], destinations[done + d]);
      std::vector<NodeId> neighbors;
      for (std::uint32_t e = around.mfg.indptr[d]; e < around.mfg.indptr[d + 1]; ++e) {
        neighbors.push_back(around.nodes[around.mfg.indices[e]]);
      }
      EXPECT_TRUE(std::ranges::equal(neighbors, topology.neighbors(destinations[done + d])));
    }
    done += taken;
  }
  EXPECT_EQ(done, destinations.size());
}

INSTANTIATE_TEST_SUITE_P(Sizes, NeighborhoodsOf, ::testing::Values(1, 30, 200, 100000));

}  // namespace
}  // namespace rudder::train
