// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/import_helpers.h"

namespace rudder::graph::testing_support {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Entries = std::vector<ZipEntry>;

/// Edges 0→1, 0→2, 1→0 (so 0-1 in both directions), 2→2 (a loop), 2→1 twice; 3 isolated.
Entries adjacency(std::string_view prefix, bool wide) {
  const auto name = [&](std::string_view what) { return fmt::format("{}{}.npy", prefix, what); };
  const std::vector<std::int64_t> indptr = {0, 2, 3, 6, 6};
  const std::vector<std::int64_t> indices = {1, 2, 0, 2, 1, 1};
  const std::vector<std::int32_t> narrow_indptr(indptr.begin(), indptr.end());
  const std::vector<std::int32_t> narrow_indices(indices.begin(), indices.end());
  const std::vector<std::int64_t> shape = {4, 4};
  return {{name("data"), wide ? npy("<f8", "(6,)", raw_all(std::vector<double>(6, 1)))
                              : npy("<f4", "(6,)", raw_all(std::vector<float>(6, 1)))},
          {name("indptr"),
           wide ? npy("<i8", "(5,)", raw_all(indptr)) : npy("<i4", "(5,)", raw_all(narrow_indptr))},
          {name("indices"),
           wide ? npy("<i8", "(6,)", raw_all(indices)) : npy("<i4", "(6,)", raw_all(narrow_indices))},
          {name("shape"), npy("<i8", "(2,)", raw_all(shape)), false}};
}

/// Rows (2,0,0), (0,0,3), empty, (0,4,0).
Entries attributes(std::string_view prefix) {
  const auto name = [&](std::string_view what) { return fmt::format("{}{}.npy", prefix, what); };
  return {{name("data"), npy("<f4", "(3,)", raw_all<float>({2, 3, 4}))},
          {name("indptr"), npy("<i4", "(5,)", raw_all<std::int32_t>({0, 1, 2, 2, 3}))},
          {name("indices"), npy("<i4", "(3,)", raw_all<std::int32_t>({0, 2, 1}))},
          {name("shape"), npy("<i8", "(2,)", raw_all<std::int64_t>({4, 3}))}};
}

ZipEntry labels_entry() {
  return {"labels.npy", npy("|i1", "(4,)", std::string("\x00\x02\x01\xff", 4))};
}

Entries operator+(Entries a, const Entries& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Entries underscored() {
  return adjacency("adj_", false) + attributes("attr_") +
         Entries{labels_entry(), {"node_names.npy", npy("|O", "(4,)", "a pickle that nobody reads")}};
}

/// The error of importing these entries.
std::string error_of(const Entries& entries, const ImportOptions& options = {}) {
  const auto directory = temporary();
  write_zip(directory.path() / "g.npz", entries);
  return import_error(ImportFormat::kNpz, directory.path() / "g.npz", options);
}

GraphData import_entries(const Entries& entries) {
  const auto directory = temporary();
  write_zip(directory.path() / "g.npz", entries);
  auto data = import_graph(ImportFormat::kNpz, directory.path() / "g.npz", {});
  EXPECT_TRUE(data.ok()) << data.error().message;
  return data.ok() ? std::move(data).value() : GraphData{};
}

/// The entries with one of them replaced.
Entries with(Entries entries, std::string_view name, std::string content) {
  for (ZipEntry& entry : entries) {
    if (entry.name == name) {
      entry.content = std::move(content);
      return entries;
    }
  }
  ADD_FAILURE() << "no entry " << name;
  return entries;
}

Entries without(Entries entries, std::string_view name) {
  std::erase_if(entries, [&](const ZipEntry& entry) { return entry.name == name; });
  return entries;
}

TEST(ImportNpz, SymmetrisesAndSaysWhatItDropped) {
  const GraphData data = import_entries(underscored());
  EXPECT_THAT(data.indptr, ElementsAre(0, 2, 4, 6, 6));
  EXPECT_THAT(data.indices, ElementsAre(1, 2, 0, 2, 0, 1));
  EXPECT_THAT(data.labels, ElementsAre(0, 2, 1, -1));
  EXPECT_EQ(data.classes, 3);
  EXPECT_THAT(row_of(data, 0), ElementsAre(2, 0, 0));
  EXPECT_THAT(row_of(data, 1), ElementsAre(0, 0, 3));
  EXPECT_THAT(row_of(data, 2), ElementsAre(0, 0, 0));
  EXPECT_THAT(row_of(data, 3), ElementsAre(0, 4, 0));
  EXPECT_EQ(origin_of(data, "self_loops_dropped"), "1");
  EXPECT_EQ(origin_of(data, "duplicates_dropped"), "1");
  EXPECT_EQ(origin_of(data, "opposite_edges_added"), "2");
  EXPECT_EQ(origin_of(data, "isolated_nodes_kept"), "1");
  EXPECT_EQ(origin_of(data, "symmetrised"), "true");
  // Node 3 has no label and so no place in the split.
  EXPECT_EQ(data.train.size() + data.val.size() + data.test.size(), 3U);
}

TEST(ImportNpz, ReadsDottedNamesAndWideTypes) {
  const GraphData expected = import_entries(underscored());
  for (const std::string prefix : {"adj_matrix.", "adj.", "adj_matrix_"}) {
    const GraphData data =
        import_entries(adjacency(prefix, true) + attributes("attr_matrix.") + Entries{labels_entry()});
    EXPECT_EQ(data.indices, expected.indices);
    EXPECT_EQ(data.rows, expected.rows);
  }
}

TEST(ImportNpz, ReadsSeveralLabelColumns) {
  const GraphData data = import_entries(
      with(underscored(), "labels.npy", npy("|b1", "(4, 2)", std::string("\1\0\0\0\1\1\0\1", 8))));
  EXPECT_EQ(data.classes, 2);
  EXPECT_TRUE(data.labels.empty());
  EXPECT_THAT(data.label_rows, ElementsAre(1, 0, 0, 0, 1, 1, 0, 1));
  EXPECT_EQ(data.train.size() + data.val.size() + data.test.size(), 4U);
  const GraphData one = import_entries(with(underscored(), "labels.npy", npy("|i1", "(4, 1)", "\1\1\2\1")));
  EXPECT_THAT(one.labels, ElementsAre(1, 1, 2, 1));
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy("|i1", "(4, 2)", "\1\1\1\1\1\2\1\1"))),
              HasSubstr("label 5 is 2; of several label columns each is 0 or 1"));
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy("|i1", "(2, 2)", "\1\1\1\1"))),
              HasSubstr("shape (2, 2) for 4 nodes"));
}

TEST(ImportNpz, ReadsDenseAttributes) {
  const std::string dense = npy("<f8", "(4, 2)", raw_all<double>({1, 2, 3, 4, 5, 6, 7, 8}));
  const GraphData data =
      import_entries(adjacency("adj_", false) + Entries{labels_entry(), {"attr_matrix.npy", dense}});
  EXPECT_EQ(data.features, 2U);
  EXPECT_THAT(row_of(data, 3), ElementsAre(7, 8));
}

TEST(ImportNpz, SaysWhichPartIsMissing) {
  EXPECT_THAT(error_of(attributes("attr_")), HasSubstr("no adj_indptr"));
  EXPECT_THAT(error_of(adjacency("adj_", false) + Entries{labels_entry()}),
              HasSubstr("neither attr_indptr nor"));
  EXPECT_THAT(error_of(without(underscored(), "labels.npy")),
              HasSubstr("no entry 'labels'; it has adj_data"));
  EXPECT_THAT(error_of(without(underscored(), "adj_indices.npy")), HasSubstr("no entry 'adj_indices'"));
}

TEST(ImportNpz, RefusesWrongStructures) {
  const auto indptr = [](const std::vector<std::int32_t>& values) {
    return error_of(with(underscored(), "adj_indptr.npy",
                         npy("<i4", fmt::format("({},)", values.size()), raw_all(values))));
  };
  EXPECT_THAT(indptr({0, 3, 2, 6, 6}), HasSubstr("indptr decreases to 2 at row 2"));
  EXPECT_THAT(indptr({0, 2, 3, 6, 7}), HasSubstr("does not fit 4 rows and 6 indices"));
  EXPECT_THAT(indptr({1, 2, 3, 6, 6}), HasSubstr("from 1 to 6"));
  EXPECT_THAT(indptr({0, 6}), HasSubstr("indptr of 2 entries"));
  EXPECT_THAT(error_of(with(underscored(), "adj_indices.npy",
                            npy("<i4", "(6,)", raw_all<std::int32_t>({1, 2, 0, 4, 1, 1})))),
              HasSubstr("index 3 is 4, outside [0, 4)"));
  EXPECT_THAT(error_of(with(underscored(), "adj_indices.npy",
                            npy("<i4", "(6,)", raw_all<std::int32_t>({1, 2, 0, -1, 1, 1})))),
              HasSubstr("index 3 is -1"));
  EXPECT_THAT(
      error_of(with(underscored(), "adj_shape.npy", npy("<i8", "(2,)", raw_all<std::int64_t>({4, 5})))),
      HasSubstr("the adjacency is 4 x 5"));
  EXPECT_THAT(
      error_of(with(underscored(), "adj_shape.npy", npy("<i8", "(2,)", raw_all<std::int64_t>({-4, 4})))),
      HasSubstr("adj_shape is (-4, 4)"));
  EXPECT_THAT(error_of(with(underscored(), "adj_indptr.npy", npy("<f4", "(5,)", std::string(20, '\0')))),
              HasSubstr("integers are needed"));
  EXPECT_THAT(
      error_of(with(underscored(), "attr_indices.npy", npy("<i4", "(3,)", raw_all<std::int32_t>({0, 3, 1})))),
      HasSubstr("index 1 is 3"));
  EXPECT_THAT(error_of(with(underscored(), "attr_data.npy", npy("<f4", "(2,)", raw_all<float>({1, 2})))),
              HasSubstr("attr_data has 2 values for 3 indices"));
}

TEST(ImportNpz, RefusesWrongLabels) {
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy("|i1", "(3,)", "\1\1\1"))),
              HasSubstr("shape (3) for 4"));
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy("|i1", "(4,)", "\1\1\1\xfe"))),
              HasSubstr("label -2 of node 3"));
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy("|O", "(4,)", "pickle"))),
              HasSubstr("Python objects"));
  EXPECT_THAT(error_of(with(underscored(), "labels.npy", npy(">i4", "(4,)", std::string(16, '\0')))),
              HasSubstr("big-endian"));
}

TEST(ImportNpz, StopsABombAtTheMemoryLimit) {
  ImportOptions options;
  options.memory_limit = 1 << 20;
  const std::string zeros(std::size_t{32} << 20, '\0');
  EXPECT_THAT(error_of(with(underscored(), "attr_data.npy", npy("<f4", "(8388608,)", zeros)), options),
              HasSubstr("attr_data.npy: 33554506 declared bytes would take more than the 1.0 MiB allowed"));
}

TEST(ImportNpz, StopsABombThatDeclaresToBeSmall) {
  // The central directory's size of attr_data is forged; the data still unpacks to 32 MiB.
  const auto directory = temporary();
  const auto file = directory.path() / "g.npz";
  const std::string zeros(std::size_t{32} << 20, '\0');
  write_zip(file, with(underscored(), "attr_data.npy", npy("<f4", "(8388608,)", zeros)));
  std::string bytes = read_file(file);
  const std::string declared = raw(std::uint32_t{33554506});
  std::size_t forged = 0;
  for (std::size_t at = bytes.find(declared); at != std::string::npos; at = bytes.find(declared, at + 4)) {
    bytes.replace(at, 4, raw(std::uint32_t{100}));
    ++forged;
  }
  ASSERT_GE(forged, 1U);
  write_file(file, bytes);
  ImportOptions options;
  options.memory_limit = 1 << 20;
  const std::string error = import_error(ImportFormat::kNpz, file, options);
  EXPECT_THAT(error, HasSubstr("attr_data.npy"));
  EXPECT_THAT(error,
              ::testing::AnyOf(HasSubstr("more than its declared 100 bytes"), HasSubstr("cannot unpack")));
}

TEST(ImportNpz, CountsAllEntriesAgainstTheLimit) {
  ImportOptions options;
  options.memory_limit = 400;
  EXPECT_THAT(error_of(underscored(), options), HasSubstr("more than the 400 B allowed"));
}

TEST(ImportNpz, RefusesStrangeNames) {
  EXPECT_THAT(error_of(underscored() + Entries{{"../evil.npy", "x"}}), HasSubstr("the name '../evil.npy'"));
  EXPECT_THAT(error_of(underscored() + Entries{{"labels", "x"}}),
              HasSubstr("two entries are named 'labels'"));
  EXPECT_THAT(error_of(underscored() + Entries{{"a b.npy", "x"}}), HasSubstr("the name 'a b.npy'"));
}

TEST(ImportNpz, RefusesWhatIsNoZip) {
  const auto directory = temporary();
  write_file(directory.path() / "g.npz", "not a zip at all");
  EXPECT_THAT(import_error(ImportFormat::kNpz, directory.path() / "g.npz"), HasSubstr("not a readable zip"));
  EXPECT_THAT(import_error(ImportFormat::kNpz, directory.path() / "none.npz"), HasSubstr("no such file"));
}

TEST(ImportNpz, RefusesEveryTruncationAndSurvivesFlips) {
  const auto directory = temporary();
  const auto file = directory.path() / "g.npz";
  write_zip(file, underscored());
  expect_no_truncation_imports(ImportFormat::kNpz, file, file);
  expect_survives_flips(ImportFormat::kNpz, file, file, 7);
}

}  // namespace
}  // namespace rudder::graph::testing_support
