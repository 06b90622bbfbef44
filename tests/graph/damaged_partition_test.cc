// SPDX-License-Identifier: Apache-2.0
// Partition folders that are damaged, or mixed of two.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/partition_cut.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// One way to spoil a folder and what the error must say.
struct Damage {
  const char* name;
  std::function<void(const std::filesystem::path&)> apply;
  const char* message;
};

const Damage kDamages[] = {
    {"NoPartitionJson", [](const Path& d) { std::filesystem::remove(d / "partition.json"); },
     "partition.json"},
    {"NoJson", [](const Path& d) { ASSERT_TRUE(write_text(d / "partition.json", "{\"a\": ").ok()); },
     "partition.json: not a JSON object"},
    {"ForeignFormat", [](const Path& d) { replace_in(d / "partition.json", "rudder-partition", "other"); },
     "format 'other'"},
    {"LaterVersion",
     [](const Path& d) { replace_in(d / "partition.json", "\"version\": 3", "\"version\": 4"); },
     "version 4; this program reads 1 to 3"},
    {"NoParts", [](const Path& d) { replace_in(d / "partition.json", "\"parts\": 4", "\"parts\": 0"); },
     "'parts' is 0"},
    {"NegativeParts",
     [](const Path& d) { replace_in(d / "partition.json", "\"parts\": 4", "\"parts\": -4"); },
     "'parts' is -4, not a count"},
    {"OtherNumberOfParts",
     [](const Path& d) { replace_in(d / "partition.json", "\"parts\": 4", "\"parts\": 5"); },
     "'offsets' has 5 entries for 5 parts"},
    {"HugeOffset",
     [](const Path& d) { replace_in(d / "partition.json", "    90\n", "    18446744073709551615\n"); },
     "'offsets'[4] is 18446744073709551615"},
    {"DecreasingOffset", [](const Path& d) { replace_in(d / "partition.json", "    90\n", "    1\n"); },
     "offsets[4] is 1 after"},
    {"OffsetBeyondGraph", [](const Path& d) { replace_in(d / "partition.json", "    90\n", "    91\n"); },
     "offsets end at 91"},
    {"TextOffset", [](const Path& d) { replace_in(d / "partition.json", "    90\n", "    \"90\"\n"); },
     "'offsets'[4] is \"90\""},
    {"UnknownMethod", [](const Path& d) { replace_in(d / "partition.json", "metis", "magic"); }, "'magic'"},
    {"ShortDigest",
     [](const Path& d) { replace_in(d / "partition.json", "\"graph_digest\": \"", "\"graph_digest\": \"z"); },
     "not a SHA-256"},
    {"OtherSource", [](const Path& d) { replace_in(d / "source_graph.json", "\"seed\"", "\"sead\""); },
     "source_graph.json: is not the one"},
    {"RepeatedOriginal",
     [](const Path& d) {
       const auto ids = NpyArray::open(d / "original_ids.npy").value().to_int64().value();
       change_element(d / "original_ids.npy", 0, ids[0] == 0 ? ids.back() : 0);
     },
     "original_ids.npy"},
    {"OriginalOutOfRange", [](const Path& d) { change_element(d / "original_ids.npy", 3, 90); },
     "original_ids.npy: ids of part 0[3] is 90, outside [0, 90)"},
    {"OffsetsDecrease", [](const Path& d) { change_element(d / "structure" / "indptr.npy", 5, 1'000'000); },
     "indptr[5] is 1000000"},
    {"NeighbourOutOfRange", [](const Path& d) { change_element(d / "structure" / "indices.npy", 0, -1); },
     "indices[0] is -1"},
    {"ShortStructure", [](const Path& d) { shorten(d / "structure" / "indices.npy"); }, "indices.npy"},
    {"PartOffsetsDiffer", [](const Path& d) { change_element(d / "part1" / "indptr.npy", 0, 1); },
     "part1/indptr.npy: [0] is 1, but structure/indptr.npy gives 0"},
    {"PartNeighboursDiffer", [](const Path& d) { change_element(d / "part2" / "indices.npy", 0, 77'777); },
     "part2/indices.npy: [0] is 77777"},
    {"PartStructureShort", [](const Path& d) { shorten(d / "part2" / "indices.npy"); }, "part2/indices.npy"},
    {"NoPart", [](const Path& d) { std::filesystem::remove_all(d / "part3"); }, "part3/indptr.npy"},
    {"TrainingNodeElsewhere", [](const Path& d) { change_element(d / "part1" / "train.npy", 0, 0); },
     "part1/train.npy: train[0] is 0, outside ["},
    {"TrainingNodeMissing", [](const Path& d) { shorten(d / "part1" / "train.npy"); },
     "the parts have 22 nodes in train, source_graph.json says 23"},
    {"NoTest", [](const Path& d) { std::filesystem::remove(d / "part0" / "test.npy"); }, "part0/test.npy"},
};

TEST(DamagedFolder, IsRefusedWithFileAndPlace) {
  const Cut cut(awkward());
  ASSERT_TRUE(PartitionedGraph::open(cut.path()).ok());
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.name);
    const auto copy = cut.folder.path() / damage.name;
    std::filesystem::copy(cut.path(), copy, std::filesystem::copy_options::recursive);
    damage.apply(copy);
    ASSERT_FALSE(HasFatalFailure());
    const auto opened = PartitionedGraph::open(copy);
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message, HasSubstr(damage.message));
    EXPECT_THAT(opened.error().code, AnyOf(Errc::kInvalidData, Errc::kNotFound, Errc::kUnsupported));
  }
}

/// What opening a partition says in which `folder` is that of another one of the same graph.
std::string refusal_of_mixed(const std::string& folder) {
  const Cut one(awkward(), by(PartitionMethod::kRandom));
  PartitionOptions seeded = by(PartitionMethod::kRandom);
  seeded.seed = 2;
  const Cut two(awkward(), seeded);
  const auto options =
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(two.path() / folder, one.path() / folder, options);
  const auto opened = PartitionedGraph::open(one.path());
  return opened.ok() ? "opened" : opened.error().message;
}

TEST(MixedFolders, StructureOfAnotherPartitionIsRefused) {
  EXPECT_THAT(refusal_of_mixed("structure"), HasSubstr("files of another partition"));
}

TEST(MixedFolders, PartOfAnotherPartitionIsRefused) {
  EXPECT_THAT(refusal_of_mixed("part2"), HasSubstr("part2/"));
}

TEST(MixedFolders, ExportNoticesAFalseGraphDigest) {
  const Cut cut(awkward());
  const std::string digest = cut.open().graph_digest();
  replace_in(cut.path() / "partition.json", digest, std::string(64, '0'));
  const auto out = cut.folder.path() / "exported";
  const Status exported = export_graph(cut.open(), out);
  ASSERT_FALSE(exported.ok());
  EXPECT_THAT(exported.error().message, HasSubstr("was cut from 0000"));
  EXPECT_FALSE(std::filesystem::exists(out / "graph.json"));
}

}  // namespace
}  // namespace rudder::graph
