// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>

#include "graph/import_helpers.h"

namespace rudder::graph::testing_support {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path write_splits(const fs::path& root) {
  write_gzip(root / "split/time/train.csv.gz", "2\n0\n");
  write_gzip(root / "split/time/valid.csv.gz", "1\n");
  write_gzip(root / "split/time/test.csv.gz", "3\n");
  return root;
}

/// 0→1, 1→0, 1→2, 3→3; four nodes.
fs::path write_csv_folder(const fs::path& root) {
  write_gzip(root / "raw/edge.csv.gz", "0,1\n1,0\n1,2\n3,3\n");
  write_gzip(root / "raw/num-node-list.csv.gz", "4\n");
  write_gzip(root / "raw/num-edge-list.csv.gz", "4\n");
  write_gzip(root / "raw/node-feat.csv.gz", "0.5,-1\n2,1e-3\n-0.0,4\n7,8\n");
  write_gzip(root / "raw/node-label.csv.gz", "0\n3\nnan\n1.0\n");
  return write_splits(root);
}

fs::path write_npz_folder(const fs::path& root) {
  write_splits(root);
  fs::create_directories(root / "raw");
  const std::vector<std::uint16_t> halves = {0x3c00, 0x4000, 0, 0, 0, 0, 0xbc00, 0x3c00};
  write_zip(root / "raw/data.npz",
            {{"edge_index.npy", npy("<i8", "(2, 4)", raw_all<std::int64_t>({0, 1, 1, 3, 1, 0, 2, 3}))},
             {"num_nodes_list.npy", npy("<i8", "(1,)", raw_all<std::int64_t>({4}))},
             {"num_edges_list.npy", npy("<i8", "(1,)", raw_all<std::int64_t>({4}))},
             {"node_feat.npy", npy("<f2", "(4, 2)", raw_all(halves)), false},
             {"node_year.npy", npy("<i8", "(4, 1)", raw_all<std::int64_t>({1, 2, 3, 4}))}});
  write_zip(root / "raw/node-label.npz",
            {{"node_label.npy", npy("<f4", "(4, 1)", raw_all<float>({0, 3, std::nanf(""), 1}))}});
  return root;
}

TEST(ImportOgb, ReadsCsvFolders) {
  const auto directory = temporary();
  const auto data = import_graph(ImportFormat::kOgb, write_csv_folder(directory.path() / "ogbn_tiny/"), {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->indptr, ElementsAre(0, 1, 3, 4, 4));
  EXPECT_THAT(data->indices, ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(data->dtype, DType::kF32);
  EXPECT_THAT(row_of(*data, 1), ElementsAre(2.0F, 1e-3F));
  EXPECT_THAT(data->labels, ElementsAre(0, 3, -1, 1));
  EXPECT_EQ(data->classes, 4);
  EXPECT_THAT(data->train, ElementsAre(0, 2));
  EXPECT_THAT(data->val, ElementsAre(1));
  EXPECT_THAT(data->test, ElementsAre(3));
  EXPECT_EQ(origin_of(*data, "source"), "ogb: ogbn_tiny");
  EXPECT_EQ(origin_of(*data, "split"), "as given: time");
  EXPECT_EQ(origin_of(*data, "symmetrised"), "true");
  EXPECT_EQ(origin_of(*data, "opposite_edges_added"), "1");
  EXPECT_EQ(origin_of(*data, "self_loops_dropped"), "1");
  EXPECT_EQ(origin_of(*data, "duplicates_dropped"), "0");
}

TEST(ImportOgb, ReadsBinaryFoldersAndKeepsHalfPrecision) {
  const auto directory = temporary();
  const auto data = import_graph(ImportFormat::kOgb, write_npz_folder(directory.path()), {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->indices, ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(data->dtype, DType::kF16);
  EXPECT_EQ(data->rows.size(), 4U * 2 * 2);
  EXPECT_EQ(data->rows[1], std::byte{0x3c});
  EXPECT_THAT(data->labels, ElementsAre(0, 3, -1, 1));
}

TEST(ImportOgb, RefusesHeterogeneousFoldersByName) {
  for (const std::string name : {"relations/a___b___c/edge.csv.gz", "triplet-type-list.csv.gz",
                                 "num-node-dict.csv.gz", "edge_index_dict.npz", "num_nodes_dict.npz"}) {
    const auto directory = temporary();
    write_file(directory.path() / "raw" / name, "x");
    EXPECT_THAT(import_error(ImportFormat::kOgb, directory.path()),
                HasSubstr("a heterogeneous graph (it has "));
  }
}

TEST(ImportOgb, SaysWhatIsMissing) {
  const auto directory = temporary();
  EXPECT_THAT(import_error(ImportFormat::kOgb, directory.path() / "none"), HasSubstr("no folder raw/"));
  fs::create_directories(directory.path() / "raw");
  EXPECT_THAT(import_error(ImportFormat::kOgb, directory.path()),
              HasSubstr("neither edge.csv.gz nor data.npz"));
  const fs::path root = write_csv_folder(directory.path() / "set");
  for (const char* name : {"num-node-list.csv.gz", "node-feat.csv.gz", "node-label.csv.gz"}) {
    const std::string content = read_file(root / "raw" / name);
    fs::remove(root / "raw" / name);
    EXPECT_THAT(import_error(ImportFormat::kOgb, root), HasSubstr(name));
    write_file(root / "raw" / name, content);
  }
  fs::remove_all(root / "split/time");
  write_file(root / "split/time/split_dict.pt", "x");
  EXPECT_THAT(import_error(ImportFormat::kOgb, root), HasSubstr("split_dict.pt, a pickle, is not read"));
}

TEST(ImportOgb, RefusesFilesThatDisagree) {
  const auto with = [](const std::string& name, std::string_view content) {
    const auto directory = temporary();
    const fs::path root = write_csv_folder(directory.path());
    write_gzip(root / name, content);
    return import_error(ImportFormat::kOgb, root);
  };
  EXPECT_THAT(with("raw/num-node-list.csv.gz", "4\n5\n"), HasSubstr("2 graphs, one is expected"));
  EXPECT_THAT(with("raw/num-node-list.csv.gz", "3\n"), HasSubstr("4 rows for 3 nodes"));
  EXPECT_THAT(with("raw/num-edge-list.csv.gz", "5\n"), HasSubstr("4 edges, but num-edge-list.csv.gz says 5"));
  EXPECT_THAT(with("raw/edge.csv.gz", "0,1\n1,4\n1,2\n3,3\n"), HasSubstr("edge 1: node 4 is outside [0, 4)"));
  EXPECT_THAT(with("raw/edge.csv.gz", "0,1\n1\n"), HasSubstr("line 2: 2 integers are expected: '1'"));
  EXPECT_THAT(with("raw/edge.csv.gz", "0,1,2\n"), HasSubstr("line 1: more than 2 columns"));
  EXPECT_THAT(with("raw/edge.csv.gz", "0, 1\n"), HasSubstr("integers are expected"));
  EXPECT_THAT(with("raw/node-feat.csv.gz", "1,2\n3\n"), HasSubstr("line 2: 1 columns, 2 before"));
  EXPECT_THAT(with("raw/node-feat.csv.gz", "1,nan\n"), HasSubstr("column 2 is not a finite number"));
  EXPECT_THAT(with("raw/node-feat.csv.gz", "1,\n"), HasSubstr("column 2"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0\n1\n2\n"), HasSubstr("3 labels for 4 nodes"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0\n1\n2\n1.5\n"),
              HasSubstr("line 4: not a class number: '1.5'"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0,1\n1\n"), HasSubstr("line 2: 1 columns, 2 before"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0,1\n1,0\n0,2\n1,1\n"),
              HasSubstr("line 3: column 2 is neither 0 nor 1"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0,1\n1,nan\n"), HasSubstr("line 2: column 2"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0,1\n1,\n"), HasSubstr("line 2: column 2"));
  EXPECT_THAT(with("raw/node-label.csv.gz", "0,1\n1,1\n"), HasSubstr("2 labels for 4 nodes"));
  EXPECT_THAT(with("split/time/test.csv.gz", "4\n"), HasSubstr("node 4 is outside [0, 4)"));
  EXPECT_THAT(with("split/time/test.csv.gz", "3\n3\n"), HasSubstr("node 3 is named twice"));
  EXPECT_THAT(with("split/other/train.csv.gz", "3\n"), HasSubstr("2 folders with train.csv.gz"));
}

TEST(ImportOgb, AveragesFeaturesOfEdgesWhereNodesHaveNone) {
  const auto directory = temporary();
  const fs::path root = write_csv_folder(directory.path() / "csv");
  fs::remove(root / "raw/node-feat.csv.gz");
  write_gzip(root / "raw/edge-feat.csv.gz", "1,0\n3,0\n0.5,8\n7,9\n");  // of 0-1, 1-0, 1-2, 3-3
  const auto data = import_graph(ImportFormat::kOgb, root, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(row_of(*data, 0), ElementsAre(2, 0));
  EXPECT_THAT(row_of(*data, 1), ElementsAre(1.5, 8.0F / 3));
  EXPECT_THAT(row_of(*data, 2), ElementsAre(0.5, 8));
  EXPECT_THAT(row_of(*data, 3), ElementsAre(7, 9));
  EXPECT_EQ(origin_of(*data, "features"), "mean of the features of a node's edges");
  write_gzip(root / "raw/edge-feat.csv.gz", "1,0\n3,0\n");
  EXPECT_THAT(import_error(ImportFormat::kOgb, root), HasSubstr("2 rows for 4 edges"));
  write_gzip(root / "raw/edge-feat.csv.gz", "1,0\n3,0\n0.5,8\n7,9\n");
  write_gzip(root / "raw/edge.csv.gz", "0,1\n1,0\n1,-2\n3,3\n");
  EXPECT_THAT(import_error(ImportFormat::kOgb, root), HasSubstr("edge 2: node -2 is outside [0, 4)"));
}

TEST(ImportOgb, ReadsSeveralLabelColumns) {
  const auto directory = temporary();
  const fs::path csv = write_csv_folder(directory.path() / "csv");
  write_gzip(csv / "raw/node-label.csv.gz", "0,1,0\n1.0,1,0\n0,0,0\n0,0,1\n");
  const fs::path binary = write_npz_folder(directory.path() / "npz");
  write_zip(binary / "raw/node-label.npz",
            {{"node_label.npy",
              npy("<i8", "(4, 3)", raw_all<std::int64_t>({0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1}))}});
  for (const fs::path& root : {csv, binary}) {
    const auto data = import_graph(ImportFormat::kOgb, root, {});
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_EQ(data->classes, 3);
    EXPECT_TRUE(data->labels.empty());
    EXPECT_THAT(data->label_rows, ElementsAre(0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1));
    EXPECT_TRUE(write_graph(directory.path() / ("graph-" + root.filename().string()), *data).ok());
  }
  write_zip(binary / "raw/node-label.npz",
            {{"node_label.npy", npy("<f4", "(4, 2)", raw_all<float>({0, 1, 1, std::nanf(""), 0, 0, 1, 1}))}});
  EXPECT_THAT(import_error(ImportFormat::kOgb, binary),
              HasSubstr("label 3 is nan; of several label columns"));
}

TEST(ImportOgb, StopsAtTheMemoryLimit) {
  const auto directory = temporary();
  const fs::path root = write_csv_folder(directory.path());
  std::string rows;
  for (int i = 0; i < 2000; ++i) {
    rows += "0,0,0,0,0,0,0,0\n";
  }
  write_gzip(root / "raw/node-feat.csv.gz", rows);
  ImportOptions options;
  options.memory_limit = 16 << 10;
  EXPECT_THAT(import_error(ImportFormat::kOgb, root, options), HasSubstr("more than the 16.0 KiB allowed"));
}

TEST(ImportOgb, RefusesTruncationsAndSurvivesFlips) {
  const auto directory = temporary();
  const fs::path root = write_csv_folder(directory.path() / "csv");
  for (const char* name : {"raw/edge.csv.gz", "raw/num-node-list.csv.gz", "raw/node-feat.csv.gz",
                           "raw/node-label.csv.gz", "split/time/train.csv.gz"}) {
    // An empty file is an empty split, not a truncated one: begin after it.
    const std::string whole = read_file(root / name);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      write_file(root / name, std::string_view(whole).substr(0, size));
      EXPECT_FALSE(import_graph(ImportFormat::kOgb, root, {}).ok()) << name << " cut to " << size;
    }
    write_file(root / name, whole);
    expect_survives_flips(ImportFormat::kOgb, root / name, root);
  }
  const fs::path binary = write_npz_folder(directory.path() / "npz");
  for (const char* name : {"raw/data.npz", "raw/node-label.npz"}) {
    expect_no_truncation_imports(ImportFormat::kOgb, binary / name, binary, 17);
    expect_survives_flips(ImportFormat::kOgb, binary / name, binary, 17);
  }
}

}  // namespace
}  // namespace rudder::graph::testing_support
