// SPDX-License-Identifier: Apache-2.0
// Graphs on disk for the partitioning tests.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/dtype.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/graph/edges.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

inline TemporaryDirectory temporary() {
  auto folder = TemporaryDirectory::create("partition");
  RUDDER_CHECK(folder.ok(), "temporary directory");
  return std::move(folder).value();
}

/// A graph written to a temporary folder and opened.
class StoredGraph {
 public:
  explicit StoredGraph(const GraphData& data) : folder_(temporary()) {
    const Status written = write_graph(path(), data);
    EXPECT_TRUE(written.ok()) << written.error().message;
    auto graph = Graph::open(path());
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    graph_.emplace(std::move(graph).value());
  }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "graph"; }

 private:
  TemporaryDirectory folder_;
  std::optional<Graph> graph_;
};

inline GraphData planted(NodeId nodes, std::int64_t classes) {
  GeneratorOptions options;
  options.nodes = nodes;
  options.classes = classes;
  options.features = 4;
  options.edge_factor = 8;
  return generate_graph("planted", options).value();
}

inline GraphData skewed(int scale) {
  GeneratorOptions options;
  options.scale = scale;
  options.features = 3;
  options.edge_factor = 8;
  return generate_graph("rmat", options).value();
}

/// 90 nodes with everything awkward: f16 rows of odd width, isolated nodes, one-way edges, self-loop, labels
/// of -1, ids of the source, nodes in no split.
inline GraphData awkward(std::uint64_t seed = 5) {
  constexpr NodeId kNodes = 90;
  CounterRng random(seed);
  std::vector<std::set<NodeId>> rows(kNodes);
  for (int i = 0; i < 200; ++i) {
    const auto v = static_cast<std::size_t>(random.below(80));
    rows[v].insert(static_cast<NodeId>(random.below(80)));
  }
  rows[7].insert(7);
  GraphData data;
  data.indptr.push_back(0);
  for (const auto& row : rows) {
    data.indices.insert(data.indices.end(), row.begin(), row.end());
    data.indptr.push_back(static_cast<EdgeIndex>(data.indices.size()));
  }
  data.dtype = DType::kF16;
  data.features = 5;
  data.rows.resize(kNodes * 5 * 2);
  for (std::size_t i = 0; i < kNodes * 5; ++i) {
    const std::uint16_t half = f32_to_f16(static_cast<float>(random.unit()));
    std::memcpy(data.rows.data() + 2 * i, &half, 2);
  }
  data.classes = 3;
  for (NodeId v = 0; v < kNodes; ++v) {
    data.labels.push_back(static_cast<std::int64_t>(random.below(4)) - 1);
    data.original_ids.push_back(1000 - v);
    if (v % 4 != 3) {
      (v % 4 == 0 ? data.train : v % 4 == 1 ? data.val : data.test).push_back(v);
    }
  }
  data.origin = {{"source", "awkward \"test\" ü"}, {"seed", std::to_string(seed)}};
  return data;
}

/// The graph with three classes of which a node has any number.
inline GraphData with_several_classes(GraphData data) {
  CounterRng random(9);
  data.labels.clear();
  data.classes = 3;
  for (std::size_t i = 0; i < 3 * (data.indptr.size() - 1); ++i) {
    data.label_rows.push_back(static_cast<std::uint8_t>(random.below(2)));
  }
  return data;
}

}  // namespace rudder::graph
