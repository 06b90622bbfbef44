// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/graph.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/graph/partition.h"

namespace rudder::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// 0 - 1 - 2, and 3 alone.
GraphData path_graph() {
  GraphData data;
  data.indptr = {0, 1, 3, 4, 4};
  data.indices = {1, 0, 2, 1};
  data.features = 2;
  data.rows.resize(4 * 2 * sizeof(float));
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    data.rows[i] = static_cast<std::byte>(i);
  }
  data.labels = {0, 2, 1, -1};
  data.classes = 3;
  data.train = {0};
  data.val = {1};
  data.test = {2, 3};
  data.origin = {{"source", "hand"}, {"note", "a \"quoted\" word"}};
  return data;
}

TemporaryDirectory temporary() {
  return TemporaryDirectory::create("graph").value();
}

/// The error of opening the path graph after `spoil` changed its folder.
std::string error_after(const std::function<void(const std::filesystem::path&)>& spoil) {
  const auto directory = temporary();
  const auto path = directory.path() / "g";
  EXPECT_TRUE(write_graph(path, path_graph()).ok());
  spoil(path);
  const auto graph = Graph::open(path);
  return graph.ok() ? "no error" : graph.error().message;
}

void replace_in(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = read_text(path).value();
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  ASSERT_TRUE(write_text(path, text).ok());
}

TEST(GraphFolder, ReadsBackWhatWasWritten) {
  const auto directory = temporary();
  GraphData data = path_graph();
  data.original_ids = {10, 20, 30, std::numeric_limits<std::int64_t>::max()};
  ASSERT_TRUE(write_graph(directory.path() / "g", data).ok());
  const auto graph = Graph::open(directory.path() / "g");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->meta().nodes, 4);
  EXPECT_EQ(graph->meta().edges, 4);
  EXPECT_EQ(graph->meta().features, 2U);
  EXPECT_EQ(graph->meta().dtype, DType::kF32);
  EXPECT_EQ(graph->meta().classes, 3);
  EXPECT_EQ(graph->meta().max_degree, 2);
  EXPECT_THAT(graph->meta().origin, ElementsAre(Pair("source", "hand"), Pair("note", "a \"quoted\" word")));
  EXPECT_TRUE(std::equal(data.indptr.begin(), data.indptr.end(), graph->topology().indptr.begin()));
  EXPECT_TRUE(std::equal(data.indices.begin(), data.indices.end(), graph->topology().indices.begin()));
  EXPECT_TRUE(std::equal(data.rows.begin(), data.rows.end(), graph->features().begin()));
  EXPECT_EQ(graph->row(3).size(), 8U);
  EXPECT_EQ(graph->row(3)[0], std::byte{24});
  EXPECT_EQ(graph->labels()[3], -1);
  EXPECT_EQ(graph->test().size(), 2U);
  EXPECT_EQ(graph->original_ids()[3], std::numeric_limits<std::int64_t>::max());
}

TEST(GraphFolder, KeepsHalfPrecisionRowsAsTheyAre) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const auto directory = temporary();
    GraphData data = path_graph();
    data.dtype = type;
    data.rows.resize(4 * 2 * 2);
    ASSERT_TRUE(write_graph(directory.path() / "g", data).ok());
    const auto graph = Graph::open(directory.path() / "g");
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(graph->meta().dtype, type);
    EXPECT_EQ(graph->row_bytes(), 4U);
    EXPECT_TRUE(std::equal(data.rows.begin(), data.rows.end(), graph->features().begin()));
  }
}

/// The path graph whose nodes have classes {0, 1}, {}, {1}, {0}.
GraphData multi_label_graph() {
  GraphData data = path_graph();
  data.labels.clear();
  data.classes = 2;
  data.label_rows = {1, 1, 0, 0, 0, 1, 1, 0};
  return data;
}

TEST(GraphFolder, KeepsRowsOfLabels) {
  const auto directory = temporary();
  const GraphData data = multi_label_graph();
  ASSERT_TRUE(write_graph(directory.path() / "g", data).ok());
  EXPECT_THAT(read_text(directory.path() / "g" / "graph.json").value(),
              HasSubstr("\"labels\": \"multi-label\""));
  const auto graph = Graph::open(directory.path() / "g");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(graph->meta().multi_label);
  EXPECT_TRUE(graph->labels().empty());
  EXPECT_THAT(graph->label_row(0), ElementsAre(1, 1));
  EXPECT_THAT(graph->label_row(2), ElementsAre(0, 1));
}

TEST(GraphFolder, RefusesRowsOfLabelsThatAreWrong) {
  const auto refuse = [](const std::function<void(GraphData&)>& spoil) {
    const auto directory = temporary();
    GraphData data = multi_label_graph();
    spoil(data);
    const Status status = write_graph(directory.path() / "g", data);
    return status.ok() ? "no error" : status.error().message;
  };
  EXPECT_THAT(refuse([](GraphData& d) { d.label_rows[5] = 2; }),
              HasSubstr("the label of row 2 for class 1 is 2, neither 0 nor 1"));
  EXPECT_THAT(refuse([](GraphData& d) { d.label_rows.pop_back(); }),
              HasSubstr("7 values of rows of labels for 4 nodes x 2 classes"));
  EXPECT_THAT(refuse([](GraphData& d) { d.classes = 0; }), HasSubstr("4 nodes x 0 classes"));
  EXPECT_THAT(refuse([](GraphData& d) { d.classes = std::int64_t{1} << 62; }), HasSubstr("classes"));
  EXPECT_THAT(refuse([](GraphData& d) { d.labels = {0, 1, 0, 1}; }), HasSubstr("4 single labels and 8"));

  const auto open = [](const std::function<void(const std::filesystem::path&)>& spoil) {
    const auto directory = temporary();
    const auto path = directory.path() / "g";
    EXPECT_TRUE(write_graph(path, multi_label_graph()).ok());
    spoil(path);
    const auto graph = Graph::open(path);
    return graph.ok() ? "no error" : graph.error().message;
  };
  EXPECT_THAT(open([](const auto& path) { replace_in(path / "graph.json", "multi-label", "many"); }),
              HasSubstr("'labels' is \"many\"; only \"multi-label\" is known"));
  EXPECT_THAT(
      open([](const auto& path) { replace_in(path / "graph.json", "\"labels\": \"multi-label\",", ""); }),
      HasSubstr("labels.npy"));
  EXPECT_THAT(
      open([](const auto& path) { replace_in(path / "graph.json", "\"classes\": 2", "\"classes\": 3"); }),
      HasSubstr("labels.npy: u8 of shape (4, 2); graph.json says multi-label, which is u8 of shape (4, 3)"));
  EXPECT_THAT(open([](const auto& path) {
                const std::vector<std::byte> twos(8, std::byte{2});
                const std::size_t shape[] = {4, 2};
                ASSERT_TRUE(write_npy(path / "labels.npy", DType::kU8, shape, twos).ok());
              }),
              HasSubstr("the label of row 0 for class 0 is 2"));
}

TEST(GraphFolder, AcceptsAGraphWithoutNodesAndRowsWithoutColumns) {
  const auto directory = temporary();
  GraphData none;
  none.indptr = {0};
  ASSERT_TRUE(write_graph(directory.path() / "none", none).ok());
  const auto graph = Graph::open(directory.path() / "none");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->meta().nodes, 0);
  GraphData bare = path_graph();
  bare.features = 0;
  bare.rows.clear();
  ASSERT_TRUE(write_graph(directory.path() / "bare", bare).ok());
  ASSERT_TRUE(Graph::open(directory.path() / "bare").ok());
}

TEST(GraphFolder, IsNotWrittenOverOtherFiles) {
  const auto directory = temporary();
  ASSERT_TRUE(write_text(directory.path() / "precious", "x").ok());
  const Status status = write_graph(directory.path(), path_graph());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("is not empty"));
}

TEST(GraphFolder, IsNotAGraphWithoutItsJson) {
  EXPECT_THAT(error_after([](const auto& path) { std::filesystem::remove(path / "graph.json"); }),
              HasSubstr("graph.json"));
}

TEST(GraphFolder, RefusesContradictoryDataBeforeItWrites) {
  const auto refuse = [](const std::function<void(GraphData&)>& spoil) {
    const auto directory = temporary();
    GraphData data = path_graph();
    spoil(data);
    const Status status = write_graph(directory.path() / "g", data);
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "g"));
    return status.ok() ? "no error" : status.error().message;
  };
  EXPECT_THAT(refuse([](GraphData& d) { d.labels[1] = 3; }), HasSubstr("labels[1] is 3"));
  EXPECT_THAT(refuse([](GraphData& d) { d.labels[1] = -2; }), HasSubstr("labels[1] is -2"));
  EXPECT_THAT(refuse([](GraphData& d) {
                const float bad = std::numeric_limits<float>::quiet_NaN();
                std::memcpy(d.rows.data() + 2 * 8 + 4, &bad, sizeof bad);
              }),
              HasSubstr("feature 1 of node 2 is nan"));
  EXPECT_THAT(refuse([](GraphData& d) {
                d.dtype = DType::kF16;
                d.rows.assign(16, std::byte{0});
                d.rows[13] = std::byte{0xFC};
              }),
              HasSubstr("feature 0 of node 3 is -inf"));
  EXPECT_THAT(refuse([](GraphData& d) { d.labels.pop_back(); }), HasSubstr("3 labels for 4 nodes"));
  EXPECT_THAT(refuse([](GraphData& d) { d.rows.pop_back(); }), HasSubstr("31 bytes of features"));
  EXPECT_THAT(refuse([](GraphData& d) { d.features = std::numeric_limits<std::size_t>::max() / 2; }),
              HasSubstr("bytes of features"));
  EXPECT_THAT(refuse([](GraphData& d) { d.dtype = DType::kI64; }), HasSubstr("features of type i64"));
  EXPECT_THAT(refuse([](GraphData& d) { d.test = {3, 2}; }), HasSubstr("test[1] is 2 after 3"));
  EXPECT_THAT(refuse([](GraphData& d) { d.val = {4}; }), HasSubstr("val[0] is 4"));
  EXPECT_THAT(refuse([](GraphData& d) { d.train = {-1}; }), HasSubstr("train[0] is -1"));
  EXPECT_THAT(refuse([](GraphData& d) { d.indptr = {}; }), HasSubstr("does not begin with 0"));
  EXPECT_THAT(refuse([](GraphData& d) { d.original_ids = {1}; }), HasSubstr("1 original ids"));
  EXPECT_THAT(refuse([](GraphData& d) { d.origin.emplace_back("source", "again"); }),
              HasSubstr("'source' twice"));
}

TEST(GraphFolder, FeaturesThatAreNoNumbersAreFoundByWhoeverReadsAll) {
  for (const std::string_view bytes :
       {std::string_view("\x00\x00\xC0\x7F", 4), std::string_view("\x00\x00\x80\xFF", 4)}) {
    const auto directory = temporary();
    const auto path = directory.path() / "g";
    ASSERT_TRUE(write_graph(path, path_graph()).ok());
    EXPECT_TRUE(check_features(Graph::open(path).value()).ok());
    std::string file = read_text(path / "features.npy").value();
    file.replace(file.size() - 4, 4, bytes);
    ASSERT_TRUE(write_text(path / "features.npy", file).ok());
    const Graph graph = Graph::open(path).value();
    const Status checked = check_features(graph);
    ASSERT_FALSE(checked.ok());
    EXPECT_THAT(checked.error().message, HasSubstr("features.npy: feature 1 of node 3 is "));
    const auto cut =
        partition_graph(graph, {.parts = 2, .method = PartitionMethod::kHash}, directory.path() / "p", {});
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().message, checked.error().message);
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "p"));
  }
}

TEST(GraphFolder, RefusesAForeignOrNewerJson) {
  const auto with = [](const std::string& from, const std::string& to) {
    return error_after([&](const auto& path) { replace_in(path / "graph.json", from, to); });
  };
  EXPECT_THAT(with("\"version\": 1", "\"version\": 2"), HasSubstr("version 2; this program reads 1"));
  EXPECT_THAT(with("rudder-graph", "other-graph"), HasSubstr("format 'other-graph'"));
  EXPECT_THAT(with("\"nodes\": 4", "\"nodes\": -4"), HasSubstr("'nodes' is -4"));
  EXPECT_THAT(with("\"nodes\": 4", "\"nodes\": 1e300"), HasSubstr("'nodes' is 1e+300"));
  EXPECT_THAT(with("\"nodes\": 4", "\"nodes\": 18446744073709551615"), HasSubstr("not a count"));
  EXPECT_THAT(with("\"nodes\": 4", "\"nodes\": 5"), HasSubstr("indptr.npy: 5 elements; graph.json says 6"));
  EXPECT_THAT(with("\"nodes\": 4,", ""), HasSubstr("'nodes' is missing"));
  EXPECT_THAT(with("\"classes\": ", "\"classes\": 1099511627776"), HasSubstr(" classes; at most 16777216"));
  EXPECT_THAT(with("\"edges\": 4", "\"edges\": 3"), HasSubstr("indices.npy: 4 elements"));
  EXPECT_THAT(with("\"features\": 2", "\"features\": 3"), HasSubstr("features.npy: f32 of shape (4, 2)"));
  EXPECT_THAT(with("\"dtype\": \"f32\"", "\"dtype\": \"f16\""), HasSubstr("graph.json says f16"));
  EXPECT_THAT(with("\"dtype\": \"f32\"", "\"dtype\": \"i64\""), HasSubstr("dtype 'i64'"));
  EXPECT_THAT(with("\"classes\": 3", "\"classes\": 2"), HasSubstr("labels[1] is 2"));
  EXPECT_THAT(with("\"max_degree\": 2", "\"max_degree\": 9"),
              HasSubstr("max_degree is 9, but the structure has 2"));
  EXPECT_THAT(with("\"hand\"", "7"), HasSubstr("origin's 'source'"));
}

TEST(GraphFolder, RefusesEveryTruncationOfItsJson) {
  const auto directory = temporary();
  ASSERT_TRUE(write_graph(directory.path() / "g", path_graph()).ok());
  const auto file = directory.path() / "g" / "graph.json";
  const std::string text = read_text(file).value();
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {  // the last byte is only a newline
    std::filesystem::remove(file);  // truncating it would flush it to the disk each time
    std::ofstream(file) << text.substr(0, size);
    EXPECT_FALSE(Graph::open(directory.path() / "g").ok()) << size;
  }
}

TEST(GraphFolder, RefusesJsonThatNestsDeeply) {
  EXPECT_THAT(error_after([](const auto& path) {
                ASSERT_TRUE(write_text(path / "graph.json", std::string(100000, '[')).ok());
              }),
              HasSubstr("nests 100000 deep"));
}

TEST(GraphFolder, RefusesArraysThatAreWrong) {
  const auto with = [](const std::string& name, const std::vector<std::int64_t>& values) {
    return error_after(
        [&](const auto& path) { ASSERT_TRUE(write_npy(path / (name + ".npy"), values).ok()); });
  };
  EXPECT_THAT(with("indptr", {0, 1, 0, 4, 4}), HasSubstr("indptr[2] is 0; it must lie in [1, 4]"));
  EXPECT_THAT(with("indptr", {1, 1, 3, 4, 4}), HasSubstr("does not begin with 0"));
  EXPECT_THAT(with("indptr", {0, 1, 3, 3, 3}), HasSubstr("indptr ends at 3, but indices has 4"));
  EXPECT_THAT(with("indptr", {0, 1, 3, 9, 9}), HasSubstr("indptr[3] is 9"));
  EXPECT_THAT(with("indices", {1, 0, 4, 1}), HasSubstr("indices[2] is 4, outside [0, 4)"));
  EXPECT_THAT(with("indices", {1, 0, -1, 1}), HasSubstr("indices[2] is -1"));
  EXPECT_THAT(with("indices", {1, 2, 0, 1}), HasSubstr("indices[2] is 0 after 2"));
  EXPECT_THAT(with("labels", {0, 0, 0, 9}), HasSubstr("labels[3] is 9"));
  EXPECT_THAT(with("train", {0, 1}), HasSubstr("train.npy: 2 elements; graph.json says 1"));
  EXPECT_THAT(error_after([](const auto& path) {
                const std::vector<std::size_t> shape = {2, 2};
                const std::vector<std::byte> zeros(32);
                ASSERT_TRUE(write_npy(path / "indices.npy", DType::kI64, shape, zeros).ok());
              }),
              HasSubstr("one dimension of i64 is needed"));
  EXPECT_THAT(error_after([](const auto& path) { std::filesystem::resize_file(path / "features.npy", 130); }),
              HasSubstr("features.npy"));
}

TEST(ValidateCsc, ChecksTheIndexLimitApartFromTheNodeCount) {
  const std::vector<EdgeIndex> indptr = {0, 1};
  const std::vector<NodeId> indices = {7};
  EXPECT_TRUE(validate_csc({indptr, indices}, 8, "part").ok());
  EXPECT_THAT(validate_csc({indptr, indices}, 7, "part").error().message, HasSubstr("part: indices[0] is 7"));
}

}  // namespace
}  // namespace rudder::graph
