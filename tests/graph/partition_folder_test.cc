// SPDX-License-Identifier: Apache-2.0
#include "graph/partition_folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "rudder/core/files.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/graph_helpers.h"
#include "graph/partition_helpers.h"

namespace rudder::graph {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

PartitionOptions by(PartitionMethod method, PartId parts = 4) {
  PartitionOptions options;
  options.method = method;
  options.parts = parts;
  return options;
}

/// A graph and its partition folder.
struct Cut {
  explicit Cut(const GraphData& data, const PartitionOptions& options = {})
      : source(data), folder(temporary()) {
    auto made = partition_graph(source.graph(), options, path(), {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    report = std::move(made).value();
  }
  [[nodiscard]] std::filesystem::path path() const { return folder.path() / "parts"; }
  [[nodiscard]] PartitionedGraph open() const {
    auto opened = PartitionedGraph::open(path());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(opened).value();
  }

  StoredGraph source;
  TemporaryDirectory folder;
  PartitionReport report;
};

std::string contents(const std::filesystem::path& path) {
  auto text = read_text(path);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return std::move(text).value();
}

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

/// One way to spoil a folder and what the error must say.
struct Damage {
  const char* name;
  std::function<void(const std::filesystem::path&)> apply;
  const char* message;
};

void replace_in(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = contents(path);
  const std::size_t place = text.find(from);
  ASSERT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  ASSERT_TRUE(write_text(path, text).ok());
}

void change_element(const std::filesystem::path& path, std::size_t index, std::int64_t value) {
  auto array = NpyArray::open(path);
  ASSERT_TRUE(array.ok()) << array.error().message;
  auto values = array->to_int64().value();
  values.at(index) = value;
  ASSERT_TRUE(write_npy(path, values).ok());
}

void shorten(const std::filesystem::path& path) {
  auto values = NpyArray::open(path).value().to_int64().value();
  values.pop_back();
  ASSERT_TRUE(write_npy(path, values).ok());
}

using Path = std::filesystem::path;

const Damage kDamages[] = {
    {"NoPartitionJson", [](const Path& d) { std::filesystem::remove(d / "partition.json"); },
     "partition.json"},
    {"NoJson", [](const Path& d) { ASSERT_TRUE(write_text(d / "partition.json", "{\"a\": ").ok()); },
     "partition.json: not a JSON object"},
    {"ForeignFormat", [](const Path& d) { replace_in(d / "partition.json", "rudder-partition", "other"); },
     "format 'other'"},
    {"LaterVersion",
     [](const Path& d) { replace_in(d / "partition.json", "\"version\": 2", "\"version\": 3"); },
     "version 3; this program reads 1 to 2"},
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

TEST(MixedFolders, StructureOfAnotherPartitionIsRefused) {
  const Cut one(awkward(), by(PartitionMethod::kRandom));
  PartitionOptions seeded = by(PartitionMethod::kRandom);
  seeded.seed = 2;
  const Cut two(awkward(), seeded);
  const auto options =
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(two.path() / "structure", one.path() / "structure", options);
  const auto opened = PartitionedGraph::open(one.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("files of another partition"));
}

TEST(MixedFolders, PartOfAnotherPartitionIsRefused) {
  const Cut one(awkward(), by(PartitionMethod::kRandom));
  PartitionOptions seeded = by(PartitionMethod::kRandom);
  seeded.seed = 2;
  const Cut two(awkward(), seeded);
  const auto options =
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(two.path() / "part2", one.path() / "part2", options);
  const auto opened = PartitionedGraph::open(one.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("part2/"));
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

/// The folder as version 1 wrote it.
void make_version_1(const Path& directory) {
  replace_in(directory / "partition.json", "\"version\": 2", "\"version\": 1");
  std::string text = contents(directory / "partition.json");
  const std::size_t begin = text.find("  \"part_digests\"");
  const std::size_t end = text.find("],\n", begin);
  ASSERT_NE(end, std::string::npos);
  text.erase(begin, end + 3 - begin);
  ASSERT_TRUE(write_text(directory / "partition.json", text).ok());
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
