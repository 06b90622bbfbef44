// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/edges.h"

#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EdgeList list_of(const std::vector<std::pair<NodeId, NodeId>>& pairs) {
  EdgeList edges;
  for (const auto& [from, to] : pairs) {
    edges.add(from, to);
  }
  return edges;
}

TEST(BuildCsc, KeepsDirectedEdgesAsInNeighbours) {
  DropReport report;
  const auto csc =
      build_csc(4, list_of({{2, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}}), Direction::kAsGiven, report);
  ASSERT_TRUE(csc.ok()) << csc.error().message;
  EXPECT_THAT(csc->indptr, ElementsAre(0, 2, 3, 3, 3));
  EXPECT_THAT(csc->indices, ElementsAre(1, 2, 0));
  EXPECT_EQ(report.self_loops, 1);
  EXPECT_EQ(report.duplicates, 1);
  EXPECT_EQ(report.both_directions, 0);
  EXPECT_EQ(report.isolated, 1);  // node 3; node 2 has an outgoing edge
}

TEST(BuildCsc, CountsAPairGivenInBothDirectionsAsOneEdgeAndOneDuplicate) {
  DropReport report;
  const auto csc = build_csc(3, list_of({{0, 1}, {1, 0}, {1, 0}, {2, 1}}), Direction::kUndirected, report);
  ASSERT_TRUE(csc.ok()) << csc.error().message;
  EXPECT_THAT(csc->indptr, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(csc->indices, ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(report.duplicates, 2);
  EXPECT_EQ(report.both_directions, 1);
}

TEST(BuildCsc, MatchesASetOfPairsOnRandomLists) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    CounterRng rng({seed});
    const auto nodes = static_cast<NodeId>(1 + rng.below(30));
    const std::uint64_t count = rng.below(120);
    const Direction direction = seed % 2 == 0 ? Direction::kUndirected : Direction::kAsGiven;
    EdgeList edges;
    std::set<std::pair<NodeId, NodeId>> entries;  // (target, source)
    std::int64_t loops = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto a = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes)));
      const auto b = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes)));
      edges.add(a, b);
      loops += a == b ? 1 : 0;
      if (a != b) {
        entries.emplace(b, a);
        if (direction == Direction::kUndirected) {
          entries.emplace(a, b);
        }
      }
    }
    DropReport report;
    const auto csc = build_csc(nodes, edges, direction, report);
    ASSERT_TRUE(csc.ok()) << csc.error().message;
    std::vector<std::pair<NodeId, NodeId>> got;
    for (NodeId v = 0; v < nodes; ++v) {
      for (const NodeId u : csc->view().neighbors(v)) {
        got.emplace_back(v, u);
      }
    }
    EXPECT_EQ(got, std::vector(entries.begin(), entries.end()));
    EXPECT_TRUE(validate_csc(csc->view(), nodes, "test").ok());
    const auto distinct =
        static_cast<std::int64_t>(direction == Direction::kUndirected ? entries.size() / 2 : entries.size());
    EXPECT_EQ(report.self_loops, loops);
    EXPECT_EQ(static_cast<std::int64_t>(count), report.self_loops + report.duplicates + distinct);
    std::set<NodeId> touched;
    for (const auto& [v, u] : entries) {
      touched.insert({v, u});
    }
    EXPECT_EQ(report.isolated, nodes - static_cast<NodeId>(touched.size()));
  }
}

TEST(BuildCsc, RefusesIdsOutsideTheGraph) {
  DropReport report;
  for (const NodeId bad : {NodeId{3}, NodeId{-1}, NodeId{1} << 62}) {
    const auto csc = build_csc(3, list_of({{0, 1}, {bad, 1}}), Direction::kUndirected, report);
    ASSERT_FALSE(csc.ok());
    EXPECT_EQ(csc.error().code, Errc::kInvalidData);
    EXPECT_THAT(csc.error().message, HasSubstr("edge 1: node " + std::to_string(bad)));
  }
}

TEST(BuildCsc, AcceptsAGraphWithoutNodesOrEdges) {
  DropReport report;
  const auto none = build_csc(0, {}, Direction::kUndirected, report);
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->indptr, ElementsAre(0));
  const auto empty = build_csc(2, {}, Direction::kUndirected, report);
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(empty->indptr, ElementsAre(0, 0, 0));
  EXPECT_EQ(report.isolated, 2);
}

}  // namespace
}  // namespace rudder::graph
