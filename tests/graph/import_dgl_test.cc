// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <gmock/gmock.h>

#include "graph/dgl_container.h"
#include "graph/import_helpers.h"

namespace rudder::graph::testing_support {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kFormats = RUDDER_TEST_SHARED_DATA "/formats";

// A small writer of DGL's containers, after the layout that DGL documents in its serialization sources.
std::string u64(std::uint64_t value) {
  return raw(value);
}
std::string text(std::string_view value) {
  return u64(value.size()) + std::string(value);
}
std::string tensor(int code, int bits, const std::vector<std::int64_t>& shape, const std::string& data) {
  return u64(0xDD5E40F096B4A13F) + u64(0) + raw(std::int32_t{1}) + raw(std::int32_t{0}) +
         raw(static_cast<std::int32_t>(shape.size())) + raw(static_cast<std::uint8_t>(code)) +
         raw(static_cast<std::uint8_t>(bits)) + raw(std::uint16_t{1}) + raw_all(shape) +
         raw(static_cast<std::int64_t>(data.size())) + data;
}
std::string ids(const std::vector<std::int64_t>& values) {
  return tensor(0, 64, {static_cast<std::int64_t>(values.size())}, raw_all(values));
}
std::string flags(const std::vector<std::uint8_t>& values) {
  return tensor(1, 8, {static_cast<std::int64_t>(values.size())}, raw_all(values));
}
std::string floats(std::int64_t columns, const std::vector<float>& values) {
  return tensor(2, 32, {static_cast<std::int64_t>(values.size()) / columns, columns}, raw_all(values));
}

using Named = std::vector<std::pair<std::string, std::string>>;

std::string named(const Named& tensors) {
  std::string out = u64(tensors.size());
  for (const auto& [name, value] : tensors) {
    out += text(name) + value;
  }
  return out;
}
std::string tensor_file(const Named& tensors) {
  return u64(0xDD5A9FBE3FA2443F) + u64(tensors.size()) + named(tensors);
}

std::string csr(std::int64_t rows, const std::string& indptr, const std::string& indices,
                const std::string& data) {
  return u64(0xDD6CD31205DFF127) + raw(rows) + raw(rows) + indptr + indices + data + '\0';
}
std::string metagraph() {
  return u64(0xDD3C5FFE20046ABF) + csr(1, ids({0, 1}), ids({0}), ids({0}));
}

struct PartGraph {
  std::int64_t nodes = 0;
  std::vector<std::int64_t> source, target;
  Named node_tensors, edge_tensors;
};

std::string unit_of_coo(const PartGraph& part) {
  return u64(0xDD2E60F0F6B4A127) + u64(0x100000001) + u64(0x100000007) + metagraph() +
         u64(0xDD61FFD305DFF127) + raw(part.nodes) + raw(part.nodes) + ids(part.source) + ids(part.target) +
         ids({}) + std::string(2, '\0');
}

std::string graph_file(const PartGraph& part, const std::string& unit,
                       const std::vector<std::string>& types = {"_N"}) {
  std::string out = u64(0xDD2E4FF046B4A13F) + u64(2) + u64(2) + u64(1);
  out.resize(4096, '\x5a');
  const std::uint64_t begin = 4096 + 16;
  out += u64(begin) + u64(0);
  out += u64(0xDD589FBE35224ABF) + metagraph() + u64(1) + unit;
  out += u64(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    out += raw(part.nodes);
  }
  out += u64(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    out += named(part.node_tensors);
  }
  out += u64(1) + named(part.edge_tensors);
  out += u64(types.size());
  for (const std::string& type : types) {
    out += text(type);
  }
  out += u64(1) + text("_E");
  return out + u64(16) + u64(1) + u64(begin) + u64(16);
}

/// Five nodes, part 0 owns 0-2 and part 1 owns 3-4. Edges by id: 0→1, 1→0, 3→2 | 4→3, 3→4, 1→4.
PartGraph first_part() {
  // Local nodes: 0, 1, 2 inner; 3 is the halo node 3. An edge belongs to the part of its target.
  return {4,
          {0, 1, 3},
          {1, 0, 2},
          {{"_ID", ids({0, 1, 2, 3})}, {"inner_node", flags({1, 1, 1, 0})}, {"part_id", ids({0, 0, 0, 1})}},
          {{"_ID", ids({0, 1, 2})}, {"inner_edge", flags({1, 1, 1})}}};
}
PartGraph second_part() {
  // Local nodes: 3, 4 inner; 1 and 2 halo. The last edge (3→2) is the other part's.
  return {4,
          {1, 0, 2, 0},
          {0, 1, 1, 3},
          {{"_ID", ids({3, 4, 1, 2})}, {"inner_node", flags({1, 1, 0, 0})}},
          {{"_ID", ids({3, 4, 5, 2})}, {"inner_edge", flags({1, 1, 1, 0})}}};
}
Named first_features() {
  return {{"_N/feat", floats(2, {0, 0, 1, 10, 2, 20})},
          {"_N/label", ids({1, 0, 2})},
          {"_N/train_mask", flags({1, 0, 0})},
          {"_N/val_mask", flags({0, 1, 0})},
          {"_N/test_mask", flags({0, 0, 1})}};
}
Named second_features() {
  return {{"_N/feat", floats(2, {3, 30, 4, 40})},
          {"_N/label", ids({0, -1})},
          {"_N/train_mask", flags({1, 0})},
          {"_N/val_mask", flags({0, 0})},
          {"_N/test_mask", flags({0, 0})}};
}

constexpr std::string_view kJson =
    R"({"graph_name": "tiny", "num_nodes": 5, "num_edges": 6, "part_method": "metis",
 "num_parts": 2, "halo_hops": 1, "node_map": {"_N": [[0, 3], [3, 5]]}, "edge_map": {"_N:_E:_N": [[0, 3], [3, 6]]},
 "ntypes": {"_N": 0}, "etypes": {"_N:_E:_N": 0},
 "part-0": {"node_feats": "part0/node_feat.dgl", "edge_feats": "part0/edge_feat.dgl", "part_graph": "part0/graph.dgl"},
 "part-1": {"node_feats": "part1/node_feat.dgl", "edge_feats": "part1/edge_feat.dgl", "part_graph": "part1/graph.dgl"}
})";

void write_part(const fs::path& root, int p, const PartGraph& part, const Named& features) {
  const fs::path folder = root / fmt::format("part{}", p);
  write_file(folder / "graph.dgl", graph_file(part, unit_of_coo(part)));
  write_file(folder / "node_feat.dgl", tensor_file(features));
}
fs::path write_folder(const fs::path& root) {
  write_file(root / "tiny.json", kJson);
  write_part(root, 0, first_part(), first_features());
  write_part(root, 1, second_part(), second_features());
  return root;
}

std::string error_after(const std::function<void(const fs::path&)>& spoil) {
  const auto directory = temporary();
  spoil(write_folder(directory.path()));
  return import_error(ImportFormat::kDgl, directory.path());
}

void expect_tiny(const GraphData& data) {
  EXPECT_THAT(data.indptr, ElementsAre(0, 1, 3, 4, 6, 8));
  EXPECT_THAT(data.indices, ElementsAre(1, 0, 4, 3, 2, 4, 1, 3));
  EXPECT_THAT(row_of(data, 4), ElementsAre(4, 40));
  EXPECT_THAT(row_of(data, 1), ElementsAre(1, 10));
  EXPECT_THAT(data.labels, ElementsAre(1, 0, 2, 0, -1));
  EXPECT_EQ(data.classes, 3);
  EXPECT_THAT(data.train, ElementsAre(0, 3));
  EXPECT_THAT(data.val, ElementsAre(1));
  EXPECT_THAT(data.test, ElementsAre(2));
}

TEST(ImportDgl, MergesPartsBackIntoOneGraph) {
  const auto directory = temporary();
  const fs::path root = write_folder(directory.path());
  for (const fs::path& source : {root, root / "tiny.json"}) {
    const auto data = import_graph(ImportFormat::kDgl, source, {});
    ASSERT_TRUE(data.ok()) << data.error().message;
    expect_tiny(*data);
    EXPECT_EQ(origin_of(*data, "source"), "dgl: tiny");
    EXPECT_EQ(origin_of(*data, "parts_merged"), "2");
    EXPECT_EQ(origin_of(*data, "opposite_edges_added"), "2");
    EXPECT_EQ(origin_of(*data, "split"), "as given");
  }
}

TEST(ImportDgl, ReadsEveryStoredForm) {
  // Part 1's four edges as CSR (rows: sources) and as CSC (rows: targets), with edge ids.
  const auto unit = [](std::uint64_t save, const std::string& matrix) {
    return u64(0xDD2E60F0F6B4A127) + u64(save) + u64(0) + metagraph() + matrix;
  };
  const std::string by_source = csr(4, ids({0, 2, 3, 4, 4}), ids({3, 1, 0, 1}), ids({3, 1, 0, 2}));
  const std::string by_target = csr(4, ids({0, 1, 3, 3, 4}), ids({1, 2, 0, 0}), ids({0, 2, 1, 3}));
  for (const std::string& form :
       {unit(2, by_source), unit(0x100000002, by_source), unit(3, by_target), unit(0x100000004, by_target)}) {
    const auto directory = temporary();
    const fs::path root = write_folder(directory.path());
    write_file(root / "part1/graph.dgl", graph_file(second_part(), form));
    const auto data = import_graph(ImportFormat::kDgl, root, {});
    ASSERT_TRUE(data.ok()) << data.error().message;
    expect_tiny(*data);
  }
}

TEST(ImportDgl, KeepsOriginalIdsWhereThePartitionSavedThem) {
  const auto directory = temporary();
  const fs::path root = write_folder(directory.path());
  write_file(root / "part0/orig_nids.dgl", tensor_file({{"_N", ids({40, 10, 30})}}));
  EXPECT_THAT(import_error(ImportFormat::kDgl, root), HasSubstr("part1/orig_nids.dgl: is missing"));
  write_file(root / "part1/orig_nids.dgl", tensor_file({{"_N", ids({0, 20})}}));
  const auto data = import_graph(ImportFormat::kDgl, root, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->original_ids, ElementsAre(40, 10, 30, 0, 20));
}

TEST(ImportDgl, SplitsLabelledNodesWhenThereAreNoMasks) {
  const auto directory = temporary();
  const fs::path root = write_folder(directory.path());
  for (const int p : {0, 1}) {
    Named features = p == 0 ? first_features() : second_features();
    features.resize(2);
    write_file(root / fmt::format("part{}/node_feat.dgl", p), tensor_file(features));
  }
  const auto data = import_graph(ImportFormat::kDgl, root, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train.size() + data->val.size() + data->test.size(), 4U);
  EXPECT_THAT(origin_of(*data, "split"), HasSubstr("60/20/20"));
}

TEST(ImportDgl, RefusesJsonItCannotFollow) {
  const auto with = [](const std::string& from, const std::string& to) {
    return error_after([&](const fs::path& root) {
      std::string json(kJson);
      const std::size_t at = json.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      write_file(root / "tiny.json", json.replace(at, from.size(), to));
    });
  };
  EXPECT_THAT(with("\"ntypes\": {\"_N\": 0}", "\"ntypes\": {\"paper\": 0, \"author\": 1}"),
              HasSubstr("a heterogeneous graph with the node types author, paper"));
  EXPECT_THAT(with("\"etypes\": {\"_N:_E:_N\": 0}", "\"etypes\": {\"a:b:c\": 0, \"c:d:a\": 1}"),
              HasSubstr("the edge types a:b:c, c:d:a"));
  EXPECT_THAT(with("\"part_graph\"", "\"part_graph_graphbolt\""), HasSubstr("GraphBolt"));
  EXPECT_THAT(with("part1/graph.dgl", "../part1/graph.dgl"), HasSubstr("not a path inside its folder"));
  EXPECT_THAT(with("part1/graph.dgl", "/etc/passwd"), HasSubstr("'/etc/passwd', not a path inside"));
  EXPECT_THAT(with("{\"_N\": [[0, 3], [3, 5]]}", "\"node_map.npy\""), HasSubstr("not a table of ranges"));
  EXPECT_THAT(with("[3, 5]", "[2, 5]"), HasSubstr("range 1 of 'node_map' does not continue at 3"));
  EXPECT_THAT(with("[3, 5]", "[3, 6]"), HasSubstr("range 1"));
  EXPECT_THAT(with("[3, 5]", "[3, 4]"), HasSubstr("ends at 4 of 5"));
  EXPECT_THAT(with("\"num_parts\": 2", "\"num_parts\": 3"), HasSubstr("no list of 3 ranges"));
  EXPECT_THAT(with("\"num_parts\": 2", "\"num_parts\": -2"), HasSubstr("'num_parts'"));
  EXPECT_THAT(with("\"num_nodes\": 5", "\"num_nodes\": 1e99"), HasSubstr("'num_nodes'"));
  EXPECT_THAT(with("\"num_edges\": 6", "\"num_edges\": 72057594037927935"),
              HasSubstr("would take more than"));
  EXPECT_THAT(with("\"part-1\"", "\"part-2\""), HasSubstr("'part-1' is missing"));
  EXPECT_THAT(with("{\"graph_name\"", "[\"graph_name\""), HasSubstr("not a JSON object"));
}

TEST(ImportDgl, RefusesPartsThatDoNotFitTogether) {
  const auto with_part = [](const std::function<void(PartGraph&)>& spoil) {
    return error_after([&](const fs::path& root) {
      PartGraph part = second_part();
      spoil(part);
      write_part(root, 1, part, second_features());
    });
  };
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.node_tensors[0].second = ids({2, 4, 1, 3});
              }),
              HasSubstr("inner node 0 has the id 2"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.node_tensors[0].second = ids({3, 3, 1, 2});
              }),
              HasSubstr("inner node 1 has the id 3"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.node_tensors[0].second = ids({3, 4, 1, 5});
              }),
              HasSubstr("node 3 has the id 5, outside [0, 5)"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.node_tensors[1].second = flags({1, 0, 0, 0});
              }),
              HasSubstr("node 4 of this part is not an inner node"));
  EXPECT_THAT(with_part([](PartGraph& p) { p.node_tensors.pop_back(); }),
              HasSubstr("'inner_node' is missing"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.edge_tensors[0].second = ids({2, 4, 5, 3});
              }),
              HasSubstr("inner edge 0 has the id 2"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.edge_tensors[0].second = ids({6, 4, 5, 3});
              }),
              HasSubstr("inner edge 0 has the id 6"));
  EXPECT_THAT(with_part([](PartGraph& p) {
                p.edge_tensors[1].second = flags({1, 1, 0, 0});
              }),
              HasSubstr("edge 5 is an inner edge of no part"));
  EXPECT_THAT(with_part([](PartGraph& p) { p.target[2] = 4; }),
              HasSubstr("edge 2 touches node 4, outside [0, 4)"));
  EXPECT_THAT(with_part([](PartGraph& p) { p.target.pop_back(); }), HasSubstr("4 rows but 3 columns"));
}

TEST(ImportDgl, RefusesFeaturesThatDoNotFit) {
  const auto with = [](const std::string& name, const std::string& value) {
    return error_after([&](const fs::path& root) {
      Named features = second_features();
      for (auto& [key, content] : features) {
        if (key == name) {
          content = value;
        }
      }
      write_file(root / "part1/node_feat.dgl", tensor_file(features));
    });
  };
  EXPECT_THAT(with("_N/feat", floats(2, {1, 2})), HasSubstr("'_N/feat' has 1 rows, the part owns 2 nodes"));
  EXPECT_THAT(with("_N/feat", floats(1, {1, 2})), HasSubstr("features of 1 f32 columns, part 0 has 2 f32"));
  EXPECT_THAT(with("_N/label", ids({0, -2})), HasSubstr("label -2 of node 4"));
  EXPECT_THAT(with("_N/label", floats(1, {0, 0.5F})), HasSubstr("not a whole number"));
  EXPECT_THAT(error_after([](const fs::path& root) {
                write_file(root / "part1/node_feat.dgl", tensor_file({{"_N/attr", ids({1, 2})}}));
              }),
              HasSubstr("no _N/feat, _N/features or _N/x; it has _N/attr"));
}

TEST(ImportDgl, RefusesHeterogeneousPartGraphsByTheirTypes) {
  EXPECT_THAT(
      error_after([](const fs::path& root) {
        const PartGraph part = second_part();
        write_file(root / "part1/graph.dgl", graph_file(part, unit_of_coo(part), {"paper", "author"}));
      }),
      HasSubstr("a heterogeneous graph with the node types paper, author and the edge types _E"));
}

TEST(ImportDgl, RefusesEveryTruncationAndSurvivesEveryFlip) {
  const auto directory = temporary();
  const fs::path root = write_folder(directory.path());
  expect_no_truncation_imports(ImportFormat::kDgl, root / "part1/node_feat.dgl", root);
  expect_survives_flips(ImportFormat::kDgl, root / "part1/node_feat.dgl", root);
  const std::string whole = read_file(root / "part0/graph.dgl");
  for (std::size_t size = 0; size < whole.size();
       size += size == 40 ? 4050U : 1U) {  // skips the header's padding
    write_file(root / "part0/graph.dgl", whole.substr(0, size));
    EXPECT_FALSE(import_graph(ImportFormat::kDgl, root, {}).ok()) << size;
  }
  write_file(root / "part0/graph.dgl", whole);
  expect_survives_flips(ImportFormat::kDgl, root / "part0/graph.dgl", root, 3);
  expect_survives_flips(ImportFormat::kDgl, root / "tiny.json", root);
}

/// A file that DGL wrote, or nothing when it is absent.
std::string fixture(const char* name) {
  return fs::exists(kFormats / name) ? read_file(kFormats / name) : std::string();
}
Result<DglGraphFile> parse(const std::string& bytes) {
  return read_dgl_graphs(std::as_bytes(std::span(bytes)), "fixture");
}

TEST(DglContainer, ReadsAHomogeneousFileOfDglToItsLastByte) {
  const std::string bytes = fixture("dgl_graph_0.9a220622.dgl");
  if (bytes.empty()) {
    GTEST_SKIP() << kFormats << " is absent";
  }
  const auto file = parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->graphs.size(), 1U);
  const DglGraph& graph = file->graphs[0];
  EXPECT_THAT(graph.node_types, ElementsAre("_N"));
  EXPECT_THAT(graph.edge_types, ElementsAre("_E"));
  EXPECT_THAT(graph.nodes_per_type, ElementsAre(100));
  const auto edges = dgl_edges(graph.relations[0], 100, "fixture");
  ASSERT_TRUE(edges.ok()) << edges.error().message;
  EXPECT_EQ(edges->source.size(), 200U);
}

TEST(DglContainer, ReadsSixHeterogeneousGraphsOfDglToTheLastByte) {
  const std::string bytes = fixture("dgl_hetero1.bin");
  if (bytes.empty()) {
    GTEST_SKIP() << kFormats << " is absent";
  }
  const auto file = parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->graphs.size(), 6U);
  ASSERT_NE(find_tensor(file->labels, "graph_label"), nullptr);
  EXPECT_THAT(find_tensor(file->labels, "graph_label")->shape, ElementsAre(54));
  const DglGraph& graph = file->graphs[0];
  EXPECT_THAT(graph.edge_types, ElementsAre("follows", "knows"));
  EXPECT_THAT(find_tensor(graph.node_tensors[0], "hh")->shape, ElementsAre(4, 5));
  EXPECT_THAT(find_tensor(graph.edge_tensors[1], "ww")->shape, ElementsAre(2, 10));
  EXPECT_EQ(graph.relations[0][0].form, DglSparse::Form::kCoo);
  EXPECT_EQ(graph.relations[1][0].form, DglSparse::Form::kCsr);
  for (const DglGraph& each : file->graphs) {
    for (const auto& relation : each.relations) {
      const auto edges = dgl_edges(relation, each.nodes_per_type[0], "fixture");
      ASSERT_TRUE(edges.ok()) << edges.error().message;
      EXPECT_EQ(edges->source.size(), relation[0].second.rows());
    }
  }
}

TEST(DglContainer, RefusesEveryTruncationOfDglsFiles) {
  for (const char* name : {"dgl_graph_0.9a220622.dgl", "dgl_hetero1.bin"}) {
    const std::string bytes = fixture(name);
    if (bytes.empty()) {
      GTEST_SKIP() << kFormats << " is absent";
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(parse(bytes.substr(0, size)).ok()) << name << " cut to " << size;
    }
    EXPECT_FALSE(parse(bytes + '\0').ok());
  }
}

TEST(DglContainer, SurvivesEveryFlippedByteOfDglsFiles) {
  const std::string bytes = fixture("dgl_hetero1.bin");
  if (bytes.empty()) {
    GTEST_SKIP() << kFormats << " is absent";
  }
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); i += i == 40 ? 4050U : 1U) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      const auto file = parse(bad);
      refused += file.ok() ? 0U : 1U;
      for (const DglGraph& graph : file.ok() ? file->graphs : std::vector<DglGraph>()) {
        for (const auto& relation : graph.relations) {
          // Only that it ends without touching foreign memory.
          static_cast<void>(dgl_edges(relation, graph.nodes_per_type[0], "flipped").ok());
        }
      }
    }
  }
  EXPECT_GT(refused, bytes.size() / 4);
}

TEST(DglContainer, RefusesVersionOneClearly) {
  const std::string bytes = fixture("dgl_1.bin");
  if (bytes.empty()) {
    GTEST_SKIP() << kFormats << " is absent";
  }
  const auto file = parse(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Errc::kUnsupported);
  EXPECT_THAT(file.error().message, HasSubstr("version 1 of DGL's graph files; version 2 is read"));
}

}  // namespace
}  // namespace rudder::graph::testing_support
