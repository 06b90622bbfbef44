// SPDX-License-Identifier: Apache-2.0
// What the importers share: limits, messages and the parts of GraphData that every source fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/graph/edges.h"
#include "rudder/graph/importers.h"
#include "rudder/graph/npy.h"

#include "graph/invalid.h"

namespace rudder::graph {

/// `options.memory_limit`, or half of the memory available now.
[[nodiscard]] std::size_t memory_limit_of(const ImportOptions& options);

/// kResource: `what` needs more than the limit.
[[nodiscard]] Error over_limit(const std::string& where, std::string_view what, std::size_t limit);

/// Foreign text for a message: other than printable ASCII escaped, at most `length` characters.
[[nodiscard]] std::string shown(std::string_view text, std::size_t length = 80);

/// The last part of a path, also when it ends with a slash: what origins call a source.
[[nodiscard]] std::string base_name(const std::filesystem::path& path);

/// Checks node and column counts and allocates zeroed f32 rows.
[[nodiscard]] Status allocate_rows(GraphData& data, std::size_t nodes, std::size_t columns, std::size_t limit,
                                   const std::string& where);

/// Builds the symmetric structure and states in the origin what was dropped and added. Repeats of an edge in
/// its own direction count as duplicates; its opposite does not.
[[nodiscard]] Status set_structure(GraphData& data, NodeId nodes, EdgeList edges, const std::string& where);

/// Takes one label a node, each -1 or a class; the number of classes is the largest label + 1.
[[nodiscard]] Status set_labels(GraphData& data, std::vector<std::int64_t> labels, const std::string& where);

/// Takes an array of one label a node (one dimension, or one column), or of several columns of 0 or 1.
[[nodiscard]] Status set_labels(GraphData& data, const NpyArray& array, std::size_t nodes);

/// Takes the labels of a multi-label graph: `classes` values of 0 or 1 a node, node after node.
[[nodiscard]] Status set_label_rows(GraphData& data, std::vector<std::uint8_t> label_rows,
                                    std::size_t classes, const std::string& where);

/// Sorts node ids into `split`; repeats and ids outside [0, nodes) are errors.
[[nodiscard]] Status set_split(std::vector<NodeId>& split, std::vector<std::int64_t> ids, NodeId nodes,
                               const std::string& where);

/// A sparse matrix in CSR form. Entries of a row may repeat (they add up) and come in any order.
struct SparseRows {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int64_t> indptr;
  std::vector<std::int64_t> indices;
  std::vector<float> values;  ///< empty: all ones
};

/// Checks lengths, order and ranges. O(rows + entries).
[[nodiscard]] Status validate_sparse(const SparseRows& matrix, const std::string& where);

/// Adds row `row` of a validated matrix to the dense row of `node`.
void add_sparse_row(const SparseRows& matrix, std::size_t row, GraphData& data, NodeId node);

[[nodiscard]] Result<GraphData> import_planetoid(const std::filesystem::path& source,
                                                 const ImportOptions& options);
[[nodiscard]] Result<GraphData> import_snap(const std::filesystem::path& source,
                                            const ImportOptions& options);
[[nodiscard]] Result<GraphData> import_ogb(const std::filesystem::path& source, const ImportOptions& options);
[[nodiscard]] Result<GraphData> import_npz(const std::filesystem::path& source, const ImportOptions& options);
[[nodiscard]] Result<GraphData> import_dgl(const std::filesystem::path& source, const ImportOptions& options);

}  // namespace rudder::graph
