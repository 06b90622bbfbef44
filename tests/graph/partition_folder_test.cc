// SPDX-License-Identifier: Apache-2.0
// What a partition folder holds.
#include "graph/partition_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/graph/partition.h"

#include "graph/graph_helpers.h"
#include "graph/partition_cut.h"

namespace rudder::graph {
namespace {

using testing::HasSubstr;

/// Every file of both folders, byte for byte.
void expect_same_files(const std::filesystem::path& one, const std::filesystem::path& two) {
  std::set<std::filesystem::path> names;
  for (const auto& root : {one, two}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) {
        names.insert(std::filesystem::relative(entry.path(), root));
      }
    }
  }
  EXPECT_GT(names.size(), 7U);
  for (const auto& name : names) {
    ASSERT_TRUE(std::filesystem::exists(one / name) && std::filesystem::exists(two / name)) << name;
    EXPECT_EQ(contents(one / name), contents(two / name)) << name;
  }
}

TEST(PartitionFolder, RelabelsNodesAndKeepsEverythingThatBelongsToThem) {
  const Cut cut(awkward(), by(PartitionMethod::kRandom));
  const PartitionedGraph parted = cut.open();
  const Graph& graph = cut.source.graph();
  const auto original = parted.original_ids();
  std::set<NodeId> trained;
  for (PartId p = 0; p < 4; ++p) {
    const auto part = parted.open_part(p);
    ASSERT_TRUE(part.ok()) << part.error().message;
    const auto ids =
        original.subspan(static_cast<std::size_t>(part->begin()), static_cast<std::size_t>(part->size()));
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = graph.row(ids[i]);
      const auto stored = part->features().subspan(i * parted.row_bytes(), parted.row_bytes());
      EXPECT_TRUE(std::equal(row.begin(), row.end(), stored.begin(), stored.end()));
      EXPECT_EQ(part->labels()[i], graph.labels()[static_cast<std::size_t>(ids[i])]);
    }
    for (const NodeId v : parted.train(p)) {
      EXPECT_TRUE(parted.book().owns(p, v));
      trained.insert(original[static_cast<std::size_t>(v)]);
    }
  }
  EXPECT_EQ(trained, std::set<NodeId>(graph.train().begin(), graph.train().end()));
}

TEST(PartitionFolder, KeepsRowsOfLabels) {
  const Cut cut(with_several_classes(awkward()), by(PartitionMethod::kRandom));
  const PartitionedGraph parted = cut.open();
  ASSERT_TRUE(parted.meta().multi_label);
  for (PartId p = 0; p < 4; ++p) {
    const auto part = parted.open_part(p);
    ASSERT_TRUE(part.ok()) << part.error().message;
    ASSERT_EQ(part->label_rows().size(), static_cast<std::size_t>(part->size()) * 3);
    EXPECT_TRUE(part->labels().empty());
    for (NodeId i = 0; i < part->size(); ++i) {
      const NodeId original = parted.original_ids()[static_cast<std::size_t>(part->begin() + i)];
      const auto expected = cut.source.graph().label_row(original);
      EXPECT_TRUE(
          std::ranges::equal(part->label_rows().subspan(static_cast<std::size_t>(i) * 3, 3), expected));
    }
  }
  const std::size_t shape[] = {static_cast<std::size_t>(parted.book().size(1)), 3};
  const std::vector<std::byte> sevens(shape[0] * 3, std::byte{7});
  ASSERT_TRUE(write_npy(cut.path() / "part1" / "labels.npy", DType::kU8, shape, sevens).ok());
  EXPECT_THAT(parted.open_part(1).error().message,
              HasSubstr("labels.npy: the label of row 0 for class 0 is 7"));
}

TEST(PartitionFolder, KeepsNeighboursUnderTheNewIds) {
  for (const auto method : {PartitionMethod::kMetis, PartitionMethod::kLdg, PartitionMethod::kHash}) {
    const Cut cut(awkward(), by(method));
    const PartitionedGraph parted = cut.open();
    const auto original = parted.original_ids();
    std::set<NodeId> seen;
    for (NodeId v = 0; v < parted.meta().nodes; ++v) {
      const NodeId old = original[static_cast<std::size_t>(v)];
      EXPECT_TRUE(seen.insert(old).second);
      std::vector<NodeId> neighbors;
      for (const NodeId u : parted.topology().neighbors(v)) {
        neighbors.push_back(original[static_cast<std::size_t>(u)]);
      }
      std::sort(neighbors.begin(), neighbors.end());
      EXPECT_EQ(neighbors, neighbors_of(cut.source.graph().topology(), old));
    }
  }
}

TEST(PartitionFolder, ReportMatchesACountFromScratch) {
  for (const auto method : {PartitionMethod::kMetis, PartitionMethod::kRandom}) {
    const Cut cut(skewed(9), by(method, 3));
    const PartitionedGraph parted = cut.open();
    EdgeIndex crossing = 0;
    EdgeIndex most_edges = 0;
    std::size_t most_train = 0;
    for (PartId p = 0; p < 3; ++p) {
      std::set<NodeId> halo;
      EdgeIndex edges = 0;
      for (NodeId v = parted.book().begin(p); v < parted.book().end(p); ++v) {
        for (const NodeId u : parted.topology().neighbors(v)) {
          ++edges;
          if (parted.book().part_of(u) != p) {
            ++crossing;
            halo.insert(u);
          }
        }
      }
      EXPECT_EQ(cut.report.halo[p], static_cast<NodeId>(halo.size()));
      EXPECT_EQ(halo_of(parted.slice(p), parted.meta().nodes), std::vector<NodeId>(halo.begin(), halo.end()));
      most_edges = std::max(most_edges, edges);
      most_train = std::max(most_train, parted.train(p).size());
    }
    EXPECT_EQ(cut.report.edge_cut, crossing / 2);
    EXPECT_DOUBLE_EQ(cut.report.balance_edges,
                     3.0 * static_cast<double>(most_edges) / static_cast<double>(parted.meta().edges));
    EXPECT_DOUBLE_EQ(cut.report.balance_train,
                     3.0 * static_cast<double>(most_train) / static_cast<double>(parted.meta().train));
    EXPECT_EQ(cut.report.method, name_of(method));
  }
}

TEST(PartitionFolder, ExportGivesBackEveryByteOfTheSource) {
  for (const GraphData& data : {awkward(), with_several_classes(awkward()), planted(600, 4), skewed(8)}) {
    for (const auto method : {PartitionMethod::kMetis, PartitionMethod::kHash}) {
      const Cut cut(data, by(method, 3));
      const auto out = cut.folder.path() / "exported";
      const Status exported = export_graph(cut.open(), out);
      ASSERT_TRUE(exported.ok()) << exported.error().message;
      expect_same_files(cut.source.path(), out);
    }
  }
}

TEST(PartitionFolder, EqualCutsHaveEqualFilesAndDigests) {
  const Cut one(awkward());
  const Cut two(awkward());
  expect_same_files(one.path(), two.path());
  EXPECT_EQ(one.open().digest(), two.open().digest());
  PartitionOptions seeded = by(PartitionMethod::kRandom);
  const Cut random(awkward(), seeded);
  seeded.seed = 9;
  const Cut other(awkward(), seeded);
  EXPECT_NE(random.open().digest(), other.open().digest());
  EXPECT_EQ(random.open().graph_digest(), other.open().graph_digest());
  EXPECT_NE(random.open().graph_digest(), Cut(awkward(6)).open().graph_digest());
}

TEST(PartitionFolder, OnePartAndEmptyPartsWork) {
  const Cut whole(awkward(), by(PartitionMethod::kMetis, 1));
  EXPECT_EQ(whole.report.edge_cut, 0);
  EXPECT_EQ(whole.report.halo, std::vector<NodeId>{0});
  // 90 nodes hashed into 40 parts leave some empty.
  const Cut sparse(awkward(), by(PartitionMethod::kHash, 40));
  const PartitionedGraph parted = sparse.open();
  int empty = 0;
  for (PartId p = 0; p < 40; ++p) {
    const auto part = parted.open_part(p);
    ASSERT_TRUE(part.ok()) << part.error().message;
    empty += part->size() == 0 ? 1 : 0;
  }
  EXPECT_GT(empty, 0);
  EXPECT_EQ(sparse.report.empty_parts, static_cast<PartId>(empty));
  EXPECT_EQ(whole.report.empty_parts, 0U);
  EXPECT_TRUE(export_graph(parted, sparse.folder.path() / "back").ok());
}

TEST(PartitionFolder, ProgressGrowsFromZeroToOne) {
  const StoredGraph source(planted(300, 3));
  const TemporaryDirectory folder = temporary();
  std::vector<double> shares;
  const auto note = [&](double share, std::string_view what) {
    EXPECT_FALSE(what.empty());
    shares.push_back(share);
  };
  ASSERT_TRUE(partition_graph(source.graph(), {}, folder.path() / "parts", note).ok());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
}

TEST(PartitionFolder, RefusesAFolderThatHoldsSomething) {
  const Cut cut(awkward());
  const auto again = partition_graph(cut.source.graph(), {}, cut.path(), {});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("not empty"));
  EXPECT_THAT(export_graph(cut.open(), cut.path()).error().message, HasSubstr("not empty"));
}

TEST(PartitionFolder, MovedObjectsKeepTheirViews) {
  const Cut cut(awkward());
  PartitionedGraph first = cut.open();
  const std::vector<NodeId> before = neighbors_of(first.topology(), 0);
  const std::size_t trained = first.train(1).size();
  const PartitionedGraph second = std::move(first);
  EXPECT_EQ(neighbors_of(second.topology(), 0), before);
  EXPECT_EQ(second.train(1).size(), trained);
  EXPECT_TRUE(std::is_sorted(second.train(1).begin(), second.train(1).end()));
}

}  // namespace
}  // namespace rudder::graph
