// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "rudder/core/rng.h"

#include "graph/import_helpers.h"
#include "graph/seeded.h"

namespace rudder::graph::testing_support {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kSmall =
    "# Undirected graph\r\n"
    "# FromNodeId\tToNodeId\r\n"
    "30\t10\r\n"
    "\n"
    "  10   7 \n"
    "5000000000 30\n"
    "10 30\n"
    "10 10\n"
    "10 30";

GraphData import_text(std::string_view text, const ImportOptions& options = {}) {
  const auto directory = temporary();
  write_file(directory.path() / "edges.txt", text);
  auto data = import_graph(ImportFormat::kSnap, directory.path() / "edges.txt", options);
  EXPECT_TRUE(data.ok()) << data.error().message;
  return data.ok() ? std::move(data).value() : GraphData{};
}

std::string error_of(std::string_view text, const ImportOptions& options = {}) {
  const auto directory = temporary();
  write_file(directory.path() / "edges.txt", text);
  return import_error(ImportFormat::kSnap, directory.path() / "edges.txt", options);
}

TEST(ImportSnap, RelabelsDenselyAndKeepsTheOriginalIds) {
  const GraphData data = import_text(kSmall);
  EXPECT_THAT(data.original_ids, ElementsAre(7, 10, 30, 5000000000));
  EXPECT_THAT(data.indptr, ElementsAre(0, 1, 3, 5, 6));
  EXPECT_THAT(data.indices, ElementsAre(1, 0, 2, 1, 3, 2));
  EXPECT_EQ(origin_of(data, "source"), "snap: edges.txt");
  EXPECT_EQ(origin_of(data, "edges_listed"), "6");
  EXPECT_EQ(origin_of(data, "self_loops_dropped"), "1");
  EXPECT_EQ(origin_of(data, "duplicates_dropped"), "1");
  EXPECT_EQ(origin_of(data, "opposite_edges_added"), "2");
  EXPECT_THAT(origin_of(data, "features"), HasSubstr("seeded random"));
}

TEST(ImportSnap, ReadsGzipLikePlainText) {
  const auto directory = temporary();
  write_gzip(directory.path() / "edges.txt.gz", kSmall);
  const auto zipped = import_graph(ImportFormat::kSnap, directory.path() / "edges.txt.gz", {});
  ASSERT_TRUE(zipped.ok()) << zipped.error().message;
  const GraphData plain = import_text(kSmall);
  EXPECT_EQ(zipped->indices, plain.indices);
  EXPECT_EQ(zipped->rows, plain.rows);
}

TEST(ImportSnap, GivesEveryNodeARowThatIsAFunctionOfSeedAndNode) {
  ImportOptions options;
  options.features = 8;
  options.classes = 3;
  options.seed = 42;
  const GraphData data = import_text(kSmall, options);
  ASSERT_EQ(data.features, 8U);
  std::vector<float> expected(8);
  noise_row(42, 2, expected);
  EXPECT_EQ(row_of(data, 2), expected);
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(data.train.size() + data.val.size() + data.test.size(), 4U);
  options.seed = 43;
  EXPECT_NE(import_text(kSmall, options).rows, data.rows);
}

TEST(ImportSnap, ReadsIdsOfTheWholeSignedRange) {
  const GraphData data = import_text("-9223372036854775808 9223372036854775807\n0 -9223372036854775808\n");
  EXPECT_THAT(data.original_ids, ElementsAre(std::numeric_limits<std::int64_t>::min(), 0,
                                             std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(neighbors_of(data, 0), ElementsAre(1, 2));
}

TEST(ImportSnap, RelabelsCloseAndFarIdsAlike) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    CounterRng random({seed});
    // Small gaps take the counting path, large ones the sorting path.
    const std::int64_t gap = seed % 2 == 0 ? 3 : 1000003;
    std::string text;
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t a = -50 + gap * static_cast<std::int64_t>(random.below(300));
      const std::int64_t b = -50 + gap * static_cast<std::int64_t>(random.below(300));
      text += fmt::format("{} {}\n", a, b);
      ids.insert(ids.end(), {a, b});
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    EXPECT_EQ(import_text(text).original_ids, ids);
  }
}

TEST(ImportSnap, NamesTheLineThatIsMalformed) {
  EXPECT_THAT(error_of("1 2\n3\n"),
              HasSubstr("edges.txt: line 2: two node ids of at most 64 bits are expected: '3'"));
  EXPECT_THAT(error_of("# c\n1 2\n\n4 x\n"), HasSubstr("line 4: two node ids"));
  EXPECT_THAT(error_of("1 2x\n"), HasSubstr("'1 2x'"));
  EXPECT_THAT(error_of("1,2\n"), HasSubstr("'1,2'"));
  EXPECT_THAT(error_of("1.5 2\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("1 2 3\n"), HasSubstr("more than two columns"));
  EXPECT_THAT(error_of("1 9223372036854775808\n"), HasSubstr("at most 64 bits"));
  EXPECT_THAT(error_of(std::string("1 2\n\x01\x1b[2J\0 7\n", 14)), HasSubstr("'\\x01\\x1b[2J\\x00 7'"));
  EXPECT_THAT(error_of(std::string(200, '7') + "\n"), HasSubstr("..."));
}

TEST(ImportSnap, RefusesAFileWithoutEdgesAndLinesWithoutEnd) {
  EXPECT_THAT(error_of(""), HasSubstr("no edge"));
  EXPECT_THAT(error_of("# only\n# comments\n"), HasSubstr("no edge"));
  EXPECT_THAT(error_of("1 2\n#" + std::string(100000, 'x')), HasSubstr("line 2 is longer than 65536 bytes"));
  EXPECT_THAT(error_of("1 2\n#" + std::string(3000000, 'x') + "\n"), HasSubstr("line 2 is longer"));
}

TEST(ImportSnap, RefusesMissingFilesAndFolders) {
  const auto directory = temporary();
  EXPECT_THAT(import_error(ImportFormat::kSnap, directory.path() / "none"), HasSubstr("no such file"));
  EXPECT_THAT(import_error(ImportFormat::kSnap, directory.path()), HasSubstr("not a regular file"));
}

TEST(ImportSnap, RefusesEveryTruncationOfGzip) {
  const auto directory = temporary();
  const auto file = directory.path() / "edges.txt.gz";
  write_gzip(file, kSmall);
  expect_no_truncation_imports(ImportFormat::kSnap, file, file);
  expect_survives_flips(ImportFormat::kSnap, file, file);
}

TEST(ImportSnap, StopsAtTheMemoryLimit) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{} {}\n", i, i + 1);
  }
  ImportOptions options;
  options.memory_limit = 16 << 10;
  EXPECT_THAT(error_of(text, options), HasSubstr("more than the 16.0 KiB allowed"));
  options.memory_limit = 256 << 10;  // the edges fit, 3001 rows of 64 floats do not
  EXPECT_THAT(error_of(text, options), HasSubstr("features of 3001 nodes x 64"));
}

TEST(ImportSnap, ChecksItsOptions) {
  ImportOptions options;
  options.classes = 0;
  EXPECT_THAT(error_of("1 2\n", options), HasSubstr("classes is 0"));
  options = {};
  options.features = 0;
  EXPECT_THAT(error_of("1 2\n", options), HasSubstr("features"));
}

}  // namespace
}  // namespace rudder::graph::testing_support
