// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/partition.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/graph/generators.h"

#include "graph/partition_helpers.h"
#include "graph/partition_methods.h"

namespace rudder::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EdgeIndex cut_of(const CscView& csc, const std::vector<PartId>& part) {
  EdgeIndex crossing = 0;
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    for (const NodeId u : csc.neighbors(v)) {
      crossing += part[static_cast<std::size_t>(v)] != part[static_cast<std::size_t>(u)];
    }
  }
  return crossing / 2;
}

std::vector<std::int64_t> sizes_of(const std::vector<PartId>& part, PartId parts) {
  std::vector<std::int64_t> sizes(parts);
  for (const PartId p : part) {
    ++sizes.at(p);
  }
  return sizes;
}

TEST(PartitionBook, FindsOwnersAlsoAroundEmptyParts) {
  const auto book = PartitionBook::create({0, 3, 3, 7, 7});
  ASSERT_TRUE(book.ok()) << book.error().message;
  EXPECT_EQ(book->parts(), 4U);
  EXPECT_EQ(book->nodes(), 7);
  std::vector<PartId> owners;
  for (NodeId v = 0; v < 7; ++v) {
    owners.push_back(book->part_of(v));
    for (PartId p = 0; p < 4; ++p) {
      EXPECT_EQ(book->owns(p, v), p == owners.back());
    }
  }
  EXPECT_THAT(owners, ElementsAre(0, 0, 0, 2, 2, 2, 2));
  EXPECT_EQ(book->size(1), 0);
  EXPECT_EQ(PartitionBook().parts(), 0U);
}

TEST(PartitionBook, RefusesOffsetsThatAreNotRanges) {
  EXPECT_FALSE(PartitionBook::create({}).ok());
  EXPECT_FALSE(PartitionBook::create({1, 2}).ok());
  const auto decreasing = PartitionBook::create({0, 5, 4});
  ASSERT_FALSE(decreasing.ok());
  EXPECT_THAT(decreasing.error().message, HasSubstr("offsets[2] is 4 after 5"));
}

TEST(PartitionMethods, NamesRoundTrip) {
  for (const char* name : {"metis", "ldg", "fennel", "hash", "random"}) {
    const auto method = partition_method_from_name(name);
    ASSERT_TRUE(method.has_value()) << name;
    EXPECT_EQ(name_of(*method), name);
  }
  EXPECT_FALSE(partition_method_from_name("METIS").has_value());
}

class EveryMethod : public testing::TestWithParam<const char*> {
 protected:
  PartitionOptions options(PartId parts = 4) {
    PartitionOptions out;
    out.parts = parts;
    out.method = *partition_method_from_name(GetParam());
    return out;
  }
};

TEST_P(EveryMethod, GivesEachNodeAPartAndRepeatsItself) {
  const StoredGraph stored(planted(2000, 8));
  const auto one = assign_parts(stored.graph(), options());
  const auto again = assign_parts(stored.graph(), options());
  ASSERT_TRUE(one.ok() && again.ok());
  EXPECT_EQ(one.value(), again.value());
  ASSERT_EQ(one->size(), 2000U);
  for (const std::int64_t size : sizes_of(one.value(), 4)) {
    EXPECT_GT(size, 400);
    EXPECT_LT(size, 600);
  }
  PartitionOptions other = options();
  other.seed = 2;
  EXPECT_NE(assign_parts(stored.graph(), other).value(), one.value());
}

TEST_P(EveryMethod, OnePartHoldsAll) {
  const StoredGraph stored(planted(50, 2));
  const auto part = assign_parts(stored.graph(), options(1));
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part.value(), std::vector<PartId>(50, 0));
}

TEST_P(EveryMethod, TakesAsManyPartsAsNodesButNotMore) {
  const StoredGraph stored(planted(12, 2));
  EXPECT_TRUE(assign_parts(stored.graph(), options(12)).ok());
  const auto part = assign_parts(stored.graph(), options(13));
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(part.error().message, HasSubstr("parts: 13 of the 12 nodes"));
  EXPECT_FALSE(assign_parts(stored.graph(), options(0)).ok());
}

TEST_P(EveryMethod, RefusesAGraphWithoutNodes) {
  GraphData empty;
  empty.indptr = {0};
  empty.features = 1;
  const StoredGraph stored(empty);
  const auto part = assign_parts(stored.graph(), options());
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.error().message, HasSubstr("no nodes"));
}

TEST_P(EveryMethod, TakesGraphsWithoutEdgesOrTrainingNodes) {
  GraphData data;
  data.indptr.assign(21, 0);
  data.features = 1;
  data.rows.resize(20 * sizeof(float));
  data.labels.assign(20, -1);
  const StoredGraph stored(data);
  const auto part = assign_parts(stored.graph(), options());
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->size(), 20U);
}

TEST_P(EveryMethod, RefusesTooLittleMemoryWithBothNumbers) {
  const StoredGraph stored(planted(2000, 8));
  PartitionOptions small = options();
  small.memory_limit = 1000;
  const auto part = assign_parts(stored.graph(), small);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, Errc::kResource);
  EXPECT_THAT(part.error().message,
              HasSubstr(std::to_string(partition_memory_bytes(stored.graph().meta(), small))));
  EXPECT_THAT(part.error().message, HasSubstr(" 1000 may be taken"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, testing::Values("metis", "ldg", "fennel", "hash", "random"));

TEST(Assignment, StructuredMethodsCutFarLessThanRandomOnCommunities) {
  const StoredGraph stored(planted(4000, 8));
  std::map<std::string, EdgeIndex> cut;
  for (const char* name : {"metis", "ldg", "fennel", "hash", "random"}) {
    PartitionOptions options;
    options.method = *partition_method_from_name(name);
    cut[name] = cut_of(stored.graph().topology(), assign_parts(stored.graph(), options).value());
  }
  // A fifth of the edges leave their community, of these six in seven leave a pair of communities.
  const double floor = 0.2 * 6 / 7 * static_cast<double>(stored.graph().meta().edges) / 2;
  EXPECT_LT(static_cast<double>(cut["metis"]), 1.1 * floor);
  EXPECT_LT(cut["ldg"], cut["random"] * 2 / 3);
  EXPECT_LT(cut["fennel"], cut["random"] * 2 / 3);
  EXPECT_NEAR(static_cast<double>(cut["random"]), 0.75 * static_cast<double>(stored.graph().meta().edges) / 2,
              0.02 * static_cast<double>(stored.graph().meta().edges));
}

TEST(Assignment, StreamingNeverExceedsItsCapacity) {
  const StoredGraph stored(skewed(10));
  for (const auto method : {PartitionMethod::kLdg, PartitionMethod::kFennel}) {
    for (const double imbalance : {0.0, 0.05, 0.5}) {
      for (const PartId parts : {2U, 3U, 7U}) {
        PartitionOptions options;
        options.method = method;
        options.imbalance = imbalance;
        options.parts = parts;
        const auto part = assign_parts(stored.graph(), options);
        ASSERT_TRUE(part.ok()) << part.error().message;
        const double limit = std::ceil((1 + imbalance) * 1024 / parts);
        for (const std::int64_t size : sizes_of(part.value(), parts)) {
          EXPECT_LE(static_cast<double>(size), limit) << name_of(method) << " " << parts << " " << imbalance;
        }
      }
    }
  }
}

TEST(Assignment, RandomPartsDifferByAtMostOneNode) {
  PartitionOptions options;
  options.parts = 7;
  const auto sizes = sizes_of(assign_random(1000, options), 7);
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  EXPECT_LE(*most - *least, 1);
}

TEST(Assignment, HashDependsOnTheNodeAloneAndIsEven) {
  PartitionOptions options;
  options.parts = 5;
  const std::vector<PartId> many = assign_hash(50'000, options);
  const std::vector<PartId> few = assign_hash(1000, options);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  for (const std::int64_t size : sizes_of(many, 5)) {
    EXPECT_NEAR(static_cast<double>(size), 10'000, 5 * 90);  // five standard deviations
  }
}

TEST(Assignment, MetisBalancesEdgesAndTrainingNodes) {
  GraphData data = skewed(12);
  // All training nodes among the first ids: balance by nodes alone would not spread them.
  data.train.clear();
  for (NodeId v = 0; v < 400; ++v) {
    data.train.push_back(v);
  }
  std::erase_if(data.val, [](NodeId v) { return v < 400; });
  std::erase_if(data.test, [](NodeId v) { return v < 400; });
  const StoredGraph stored(data);
  const TemporaryDirectory folder = temporary();
  const auto report = partition_graph(stored.graph(), {}, folder.path() / "parts", {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_LT(report->balance_edges, 1.15);
  EXPECT_LT(report->balance_train, 1.15);
}

TEST(Assignment, RefusesImbalanceThatIsNoNumber) {
  const StoredGraph stored(planted(50, 2));
  for (const double bad : {-0.1, std::nan(""), 1e9}) {
    PartitionOptions options;
    options.imbalance = bad;
    EXPECT_THAT(assign_parts(stored.graph(), options).error().message, HasSubstr("imbalance"));
  }
}

TEST(MetisGraph, IsUndirectedWithoutSelfLoopsWhateverIsStored) {
  // 0 ← 1, 1 ← 0, 2 ← 2 and 3 ← 0: one pair stored both ways, a self-loop, one direction only.
  const std::vector<EdgeIndex> indptr{0, 1, 2, 3, 4};
  const std::vector<NodeId> indices{1, 0, 2, 0};
  const std::vector<NodeId> train{2};
  const auto made = to_metis({indptr, indices}, train);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->offsets, ElementsAre(0, 2, 3, 3, 4));
  EXPECT_THAT(made->neighbors, ElementsAre(1, 3, 0, 0));
  EXPECT_THAT(made->weights, ElementsAre(3, 0, 2, 0, 1, 1, 2, 0));
  EXPECT_EQ(to_metis({indptr, indices}, {})->constraints, 1);
}

TEST(Metis, LeavesStandardOutputToTheProgram) {
  // As many parts as nodes makes METIS complain with printf.
  const StoredGraph stored(planted(12, 2));
  PartitionOptions options;
  options.parts = 12;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(assign_parts(stored.graph(), options).ok());
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(MetisGraph, RefusesWhatThirtyTwoBitsCannotCount) {
  // A view whose length alone is looked at before the refusal; its elements do not exist.
  const std::vector<EdgeIndex> indptr{0, 0};
  const NodeId one = 0;
  const std::span<const NodeId> indices(&one, std::size_t{1} << 31);
  const auto made = to_metis({indptr, indices}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Errc::kUnsupported);
  EXPECT_THAT(made.error().message, HasSubstr("use ldg or fennel"));
}

}  // namespace
}  // namespace rudder::graph
