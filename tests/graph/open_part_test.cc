// SPDX-License-Identifier: Apache-2.0
// Single parts of a partition folder: their rows, their own structure, folders of earlier versions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "rudder/core/files.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/partition_cut.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

using testing::HasSubstr;

TEST(OpenPart, ChecksRowsAndLabels) {
  const Cut cut(awkward());
  const PartitionedGraph parted = cut.open();
  EXPECT_EQ(parted.open_part(4).error().code, Errc::kInvalidArgument);
  change_element(cut.path() / "part0" / "labels.npy", 2, 3);
  EXPECT_THAT(parted.open_part(0).error().message,
              HasSubstr("labels.npy: label 3 of row 2 is outside [-1, 3)"));
  shorten(cut.path() / "part1" / "labels.npy");
  EXPECT_THAT(parted.open_part(1).error().message, HasSubstr("part1/labels.npy"));
  std::filesystem::remove(cut.path() / "part2" / "features.npy");
  EXPECT_THAT(parted.open_part(2).error().message, HasSubstr("part2/features.npy"));
  std::filesystem::copy_file(cut.path() / "part0" / "features.npy", cut.path() / "part2" / "features.npy");
  if (parted.book().size(0) != parted.book().size(2)) {
    EXPECT_THAT(parted.open_part(2).error().message, HasSubstr("f16 of shape"));
  }
  const std::vector<float> rows(static_cast<std::size_t>(parted.book().size(3)) * 5);
  const std::size_t shape[] = {static_cast<std::size_t>(parted.book().size(3)), 5};
  ASSERT_TRUE(
      write_npy(cut.path() / "part3" / "features.npy", DType::kF32, shape, std::as_bytes(std::span(rows)))
          .ok());
  EXPECT_THAT(parted.open_part(3).error().message, HasSubstr("f32 of shape"));
}

/// The folder as an earlier version wrote it, which had no list of this name.
void make_older(const Path& directory, int version, const std::string& without) {
  const auto named = [](int number) { return "\"version\": " + std::to_string(number); };
  replace_in(directory / "partition.json", named(version + 1), named(version));
  std::string text = contents(directory / "partition.json");
  const std::size_t begin = text.find("  \"" + without + "\"");
  const std::size_t end = text.find("],\n", begin);
  ASSERT_NE(end, std::string::npos);
  text.erase(begin, end + 3 - begin);
  ASSERT_TRUE(write_text(directory / "partition.json", text).ok());
}
void make_version_2(const Path& directory) {
  make_older(directory, 2, "row_digests");
}
void make_version_1(const Path& directory) {
  make_version_2(directory);
  make_older(directory, 1, "part_digests");
}

TEST(PartitionJson, IsWrittenAsItWasReadInEveryVersion) {
  const Cut cut(awkward());
  for (void (*const make)(const Path&) :
       {+[](const Path&) {}, +make_version_2, +[](const Path& d) { make_older(d, 1, "part_digests"); }}) {
    make(cut.path());
    const std::string text = contents(cut.path() / "partition.json");
    const auto file = parse_partition_json(text, "partition.json");
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(partition_json_text(*file), text);
  }
}

TEST(OpenPart, RefusesRowsOfAnotherGraph) {
  for (const bool newest : {true, false}) {
    const Cut cut(awkward());
    if (!newest) {
      make_version_2(cut.path());
    }
    const PartitionedGraph parted = cut.open();
    const auto features = cut.path() / "part1" / "features.npy";
    std::string bytes = contents(features);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    ASSERT_TRUE(write_text(features, bytes).ok());
    const auto part = parted.open_part(1);
    EXPECT_EQ(part.ok(), !newest);
    if (newest) {
      EXPECT_THAT(part.error().message,
                  HasSubstr("part1: features or labels are not those that partition.json"));
    }
    ASSERT_TRUE(parted.open_part(0).ok());
    std::vector<std::int64_t> labels =
        NpyArray::open(cut.path() / "part0" / "labels.npy").value().to_int64().value();
    labels[0] = labels[0] == 0 ? 1 : 0;
    ASSERT_TRUE(write_npy(cut.path() / "part0" / "labels.npy", labels).ok());
    EXPECT_EQ(parted.open_part(0).ok(), !newest);
  }
}

TEST(OpenOwn, GivesThePartsSliceOfTheWholeWithoutTouchingTheRest) {
  const Cut cut(awkward(), by(PartitionMethod::kRandom));
  const PartitionedGraph whole = cut.open();
  std::filesystem::rename(cut.path() / "structure", cut.folder.path() / "elsewhere");
  std::filesystem::remove(cut.path() / "original_ids.npy");
  for (PartId p = 0; p < 4; ++p) {
    for (PartId other = 0; other < 4; ++other) {
      if (other != p) {
        std::filesystem::remove(cut.path() / ("part" + std::to_string(other)) / "indices.npy");
      }
    }
    const auto own = PartitionedGraph::open_own(cut.path(), p);
    ASSERT_TRUE(own.ok()) << own.error().message;
    EXPECT_FALSE(own->has_topology());
    EXPECT_EQ(own->digest(), whole.digest());
    EXPECT_EQ(own->graph_digest(), whole.graph_digest());
    const CscSlice slice = own->slice(p);
    const CscSlice expected = whole.slice(p);
    ASSERT_EQ(slice.begin, expected.begin);
    ASSERT_EQ(slice.end(), expected.end());
    for (NodeId v = slice.begin; v < slice.end(); ++v) {
      const auto neighbors = whole.topology().neighbors(v);
      EXPECT_TRUE(std::ranges::equal(slice.neighbors(v), neighbors));
      EXPECT_TRUE(std::ranges::equal(expected.neighbors(v), neighbors));
      EXPECT_EQ(slice.degree(v), whole.topology().degree(v));
    }
    EXPECT_EQ(halo_of(slice, own->meta().nodes), halo_of(expected, whole.meta().nodes));
    EXPECT_TRUE(std::ranges::equal(own->train(3), whole.train(3)));
    break;  // the other parts' files are gone now
  }
}

TEST(OpenOwn, RefusesDamageWithFileAndPlace) {
  const Cut cut(awkward(), by(PartitionMethod::kRandom));
  EXPECT_THAT(PartitionedGraph::open_own(cut.path(), 4).error().message,
              HasSubstr("has 4 parts; there is no part 4"));
  const auto refused = [&](const char* name, const std::function<void(const Path&)>& spoil) {
    const auto copy = cut.folder.path() / name;
    std::filesystem::copy(cut.path(), copy, std::filesystem::copy_options::recursive);
    spoil(copy);
    const auto opened = PartitionedGraph::open_own(copy, 1);
    return opened.ok() ? std::string("opened") : opened.error().message;
  };
  EXPECT_THAT(refused("range", [](const Path& d) { change_element(d / "part1" / "indices.npy", 0, 90); }),
              HasSubstr("part1: indices[0] is 90"));
  EXPECT_THAT(refused("offsets", [](const Path& d) { change_element(d / "part1" / "indptr.npy", 0, 1); }),
              HasSubstr("part1: indptr"));
  EXPECT_THAT(refused("short", [](const Path& d) { shorten(d / "part1" / "indptr.npy"); }),
              HasSubstr("part1/indptr.npy"));
  EXPECT_THAT(refused("other part",
                      [](const Path& d) {
                        for (const char* name : {"indptr.npy", "indices.npy"}) {
                          std::filesystem::copy_file(d / "part0" / name, d / "part1" / name,
                                                     std::filesystem::copy_options::overwrite_existing);
                        }
                      }),
              HasSubstr("part1"));
  EXPECT_THAT(refused("digest",
                      [](const Path& d) {
                        const auto text = contents(d / "partition.json");
                        const std::size_t at = text.find('"', text.find('[', text.find("part_digests"))) + 1;
                        const std::string first = text.substr(at, 64);
                        replace_in(d / "partition.json", first, std::string(64, '0'));
                        std::string second = contents(d / "partition.json").substr(at + 72, 64);
                        replace_in(d / "partition.json", second, std::string(64, '1'));
                      }),
              HasSubstr("instead of 1111"));
  EXPECT_THAT(refused("fewer digests",
                      [](const Path& d) {
                        std::string text = contents(d / "partition.json");
                        const std::size_t at = text.find('"', text.find("part_digests") + 14);
                        replace_in(d / "partition.json", text.substr(at, 66 + 1), "");
                      }),
              HasSubstr("'part_digests' has 3 entries for 4 parts"));
}

TEST(OpenOwn, FoldersOfVersion1OpenWholeOnly) {
  const Cut cut(awkward());
  make_version_1(cut.path());
  ASSERT_FALSE(HasFatalFailure());
  const PartitionedGraph whole = cut.open();
  EXPECT_EQ(whole.topology().nodes(), whole.meta().nodes);
  const auto own = PartitionedGraph::open_own(cut.path(), 0);
  ASSERT_FALSE(own.ok());
  EXPECT_EQ(own.error().code, Errc::kUnsupported);
  EXPECT_THAT(own.error().message, HasSubstr("version 1 has no digests of single parts"));
}

/// Makes the features of part 0 a sparse file of `bytes` zeros at least, and the folder consistent with it.
void make_sparse_features(const Path& directory, const PartitionBook& book, std::size_t bytes) {
  make_version_2(directory);  // which says nothing of rows
  const auto rows = static_cast<std::size_t>(book.size(0));
  const std::size_t columns = bytes / 2 / rows + 1;
  const std::string before = contents(directory / "source_graph.json");
  replace_in(directory / "source_graph.json", "\"features\": 5", "\"features\": " + std::to_string(columns));
  replace_in(directory / "partition.json", text_digest(before),
             text_digest(contents(directory / "source_graph.json")));
  std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.resize(117, ' ');
  header = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  std::filesystem::remove(directory / "part0" / "features.npy");
  ASSERT_TRUE(write_text(directory / "part0" / "features.npy", header).ok());
  std::filesystem::resize_file(directory / "part0" / "features.npy", header.size() + rows * columns * 2);
}

/// Opens part 0 with 256 MiB of private memory and reads its last row. Ends the process: 0 when it could.
[[noreturn]] void read_with_little_memory(const Path& directory, FeatureMemory memory) {
  const rlimit limit{rlim_t{256} << 20, rlim_t{256} << 20};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) {
    std::_Exit(2);
  }
  const auto parted = PartitionedGraph::open(directory);
  const auto part = parted.ok() ? parted->open_part(0, memory) : Result<Part>(parted.error());
  if (!part.ok()) {
    std::fputs(part.error().message.c_str(), stderr);
    std::_Exit(1);
  }
  const auto last = part->features().last(parted->row_bytes());
  std::_Exit(std::ranges::all_of(last, [](std::byte b) { return b == std::byte{0}; }) ? 0 : 3);
}

TEST(OpenPartDeathTest, MappedFeaturesMayExceedTheMemoryAndLoadedOnesAreRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory exceeds the limit";
#endif
  const Cut cut(awkward());
  make_sparse_features(cut.path(), cut.open().book(), std::size_t{1} << 30);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EXIT(read_with_little_memory(cut.path(), FeatureMemory::kMapped), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(read_with_little_memory(cut.path(), FeatureMemory::kLoaded), testing::ExitedWithCode(1),
              "part0/features.npy: [0-9]+ bytes of features do not fit into memory");
}

TEST(OpenPart, LoadedFeaturesAreTheMappedOnes) {
  const Cut cut(awkward());
  const PartitionedGraph parted = cut.open();
  for (PartId p = 0; p < 4; ++p) {
    const Part mapped = parted.open_part(p).value();
    Part opened = parted.open_part(p, FeatureMemory::kLoaded).value();
    const Part loaded = std::move(opened);
    EXPECT_TRUE(std::ranges::equal(loaded.features(), mapped.features()));
    EXPECT_NE(loaded.features().data(), mapped.features().data());
  }
}

}  // namespace
}  // namespace rudder::graph
