// SPDX-License-Identifier: Apache-2.0
// The graph folder: `graph.json` and memory-mapped `.npy` arrays in CSC form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/npy.h"

namespace rudder::graph {

/// In-neighbours of v are indices[indptr[v] .. indptr[v+1]): the nodes whose messages v receives. Sorted,
/// distinct.
struct CscView {
  std::span<const EdgeIndex> indptr;  ///< nodes + 1 entries, not decreasing
  std::span<const NodeId> indices;    ///< each in [0, nodes)

  [[nodiscard]] NodeId nodes() const noexcept { return static_cast<NodeId>(indptr.size()) - 1; }
  [[nodiscard]] EdgeIndex edges() const noexcept { return static_cast<EdgeIndex>(indices.size()); }
  [[nodiscard]] EdgeIndex degree(NodeId v) const noexcept {
    const auto i = static_cast<std::size_t>(v);
    return indptr[i + 1] - indptr[i];
  }
  [[nodiscard]] std::span<const NodeId> neighbors(NodeId v) const noexcept {
    const auto i = static_cast<std::size_t>(v);
    return indices.subspan(static_cast<std::size_t>(indptr[i]), static_cast<std::size_t>(degree(v)));
  }
};

/// The in-edges of a run of nodes, [begin, end()), as the owner of a part holds them. Neighbours may be any
/// nodes of the graph.
struct CscSlice {
  NodeId begin = 0;
  CscView csc;  ///< node begin + i at i; indptr may begin beyond 0

  [[nodiscard]] NodeId end() const noexcept { return begin + csc.nodes(); }
  [[nodiscard]] bool owns(NodeId v) const noexcept { return v >= begin && v < end(); }
  [[nodiscard]] EdgeIndex degree(NodeId v) const noexcept { return csc.degree(v - begin); }
  [[nodiscard]] std::span<const NodeId> neighbors(NodeId v) const noexcept {
    return csc.neighbors(v - begin);
  }
};

/// Where a graph came from and what making it dropped: key and value as text, in order, written to
/// `graph.json` under "origin". Keys used by all importers: source, self_loops_dropped, duplicates_dropped,
/// isolated_nodes_kept, symmetrised.
using Origin = std::vector<std::pair<std::string, std::string>>;

struct GraphMeta {
  NodeId nodes = 0;
  EdgeIndex edges = 0;  ///< entries of `indices`: an undirected edge counts twice
  std::size_t features = 0;
  DType dtype = DType::kF32;
  std::int64_t classes = 0;
  bool multi_label = false;  ///< a node has any number of the classes; else one or none
  std::size_t train = 0;
  std::size_t val = 0;
  std::size_t test = 0;
  EdgeIndex max_degree = 0;
  Origin origin;
};

/// A whole graph in memory, as importers and generators build it.
struct GraphData {
  std::vector<EdgeIndex> indptr;
  std::vector<NodeId> indices;
  DType dtype = DType::kF32;
  std::size_t features = 0;          ///< columns
  std::vector<std::byte> rows;       ///< nodes x features x size_of(dtype)
  std::vector<std::int64_t> labels;  ///< one a node, -1 = none; empty in a multi-label graph
  /// Multi-label graphs: nodes x classes, 1 where the node has the class, else 0; empty in others.
  std::vector<std::uint8_t> label_rows;
  std::int64_t classes = 0;
  std::vector<NodeId> train, val, test;  ///< sorted distinct node ids
  /// Empty, or for each node the id it had in the source (importers that relabel).
  std::vector<std::int64_t> original_ids;
  Origin origin;
};

/// Creates `directory` (which must be absent or empty, else an error) and writes all files, `graph.json`
/// last, so that an interrupted write is not a graph. Checks the data as Graph::open does. Repeated keys of
/// `origin` are an error.
[[nodiscard]] Status write_graph(const std::filesystem::path& directory, const GraphData& data);

/// An opened graph folder. Immutable, thread-safe, movable; views live as long as the object.
class Graph {
 public:
  /// Checks every shape and dtype against `graph.json`, that indptr starts at 0, never decreases and ends at
  /// the length of indices, every index in range and ascending within its node, split ids in range and
  /// ascending, labels in [-1, classes) or rows of 0 and 1, counts equal to those of `graph.json`. O(nodes +
  /// edges + labels).
  [[nodiscard]] static Result<Graph> open(const std::filesystem::path& directory);

  [[nodiscard]] const GraphMeta& meta() const noexcept { return meta_; }
  [[nodiscard]] CscView topology() const noexcept { return topology_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return meta_.features * size_of(meta_.dtype); }
  [[nodiscard]] std::span<const std::byte> features() const noexcept { return features_.bytes(); }
  [[nodiscard]] std::span<const std::byte> row(NodeId v) const noexcept {
    return features().subspan(static_cast<std::size_t>(v) * row_bytes(), row_bytes());
  }
  /// One a node, -1 = none; empty in a multi-label graph.
  [[nodiscard]] std::span<const std::int64_t> labels() const noexcept { return labels_view_; }
  /// Of a multi-label graph: `classes` values of 0 or 1.
  [[nodiscard]] std::span<const std::uint8_t> label_row(NodeId v) const noexcept {
    const auto classes = static_cast<std::size_t>(meta_.classes);
    return label_rows_view_.subspan(static_cast<std::size_t>(v) * classes, classes);
  }
  [[nodiscard]] std::span<const NodeId> train() const noexcept { return train_view_; }
  [[nodiscard]] std::span<const NodeId> val() const noexcept { return val_view_; }
  [[nodiscard]] std::span<const NodeId> test() const noexcept { return test_view_; }
  /// For each node its id in the source; empty when the importer kept the source's ids.
  [[nodiscard]] std::span<const std::int64_t> original_ids() const noexcept { return original_view_; }
  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }

 private:
  GraphMeta meta_;
  std::filesystem::path directory_;
  NpyArray indptr_, indices_, features_, labels_, train_, val_, test_, original_;
  CscView topology_;
  std::span<const std::int64_t> labels_view_, original_view_;
  std::span<const std::uint8_t> label_rows_view_;
  std::span<const NodeId> train_view_, val_view_, test_view_;
};

/// Whether all features are finite numbers: a single NaN would make every loss that it reaches NaN. The error
/// names the first that is not, and its node. Reads all rows, which Graph::open does not.
[[nodiscard]] Status check_features(const Graph& graph);

/// Checks that indptr begins at 0, never decreases and ends at the length of indices, and that every node's
/// indices are in [0, index_limit) and ascend without repeats. `where` names the files in errors. O(nodes +
/// edges).
[[nodiscard]] Status validate_csc(const CscView& csc, NodeId index_limit, const std::string& where);

}  // namespace rudder::graph
