// SPDX-License-Identifier: Apache-2.0
// GNN-benchmark files (Amazon, Coauthor, Cora-ML families): CSR adjacency, CSR or dense attributes, labels.
#include <utility>

#include <fmt/format.h>

#include "graph/import_common.h"
#include "graph/npz.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

/// The prefix under which the parts of a CSR matrix are stored, or nothing: adj_data, adj_matrix.data, …
std::string matrix_prefix(const NpzFile& file, std::string_view base) {
  for (const std::string_view infix : {"_", ".", "_matrix.", "_matrix_"}) {
    std::string prefix = fmt::format("{}{}", base, infix);
    if (file.has(prefix + "indptr")) {
      return prefix;
    }
  }
  return {};
}

Result<std::vector<std::int64_t>> read_vector(NpzFile& file, const std::string& name) {
  RUDDER_ASSIGN(const NpyArray array, file.read(name));
  if (array.shape().size() != 1) {
    return invalid(array.where(), fmt::format("{} dimensions, one is expected", array.shape().size()));
  }
  return array.to_int64();
}

Result<SparseRows> read_sparse(NpzFile& file, const std::string& prefix, bool with_values) {
  SparseRows matrix;
  RUDDER_ASSIGN(const std::vector<std::int64_t> shape, read_vector(file, prefix + "shape"));
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) {
    return invalid(file.where(), fmt::format("{}shape is ({})", prefix, fmt::join(shape, ", ")));
  }
  matrix.rows = static_cast<std::size_t>(shape[0]);
  matrix.columns = static_cast<std::size_t>(shape[1]);
  RUDDER_ASSIGN(matrix.indptr, read_vector(file, prefix + "indptr"));
  RUDDER_ASSIGN(matrix.indices, read_vector(file, prefix + "indices"));
  if (with_values) {
    RUDDER_ASSIGN(const NpyArray values, file.read(prefix + "data"));
    RUDDER_ASSIGN(matrix.values, values.to_f32());
    if (matrix.values.size() != matrix.indices.size()) {
      return invalid(file.where(), fmt::format("{}data has {} values for {} indices", prefix,
                                               matrix.values.size(), matrix.indices.size()));
    }
  }
  RUDDER_TRY(validate_sparse(matrix, fmt::format("{}: {}*", file.where(), prefix)));
  return matrix;
}

Status read_features(NpzFile& file, GraphData& data, std::size_t nodes, std::size_t limit) {
  const std::string where = file.where() + ": attributes";
  if (const std::string prefix = matrix_prefix(file, "attr"); !prefix.empty()) {
    RUDDER_ASSIGN(const SparseRows matrix, read_sparse(file, prefix, true));
    if (matrix.rows != nodes) {
      return invalid(where, fmt::format("{} rows for {} nodes", matrix.rows, nodes));
    }
    RUDDER_TRY(allocate_rows(data, nodes, matrix.columns, limit, where));
    for (std::size_t v = 0; v < nodes; ++v) {
      add_sparse_row(matrix, v, data, static_cast<NodeId>(v));
    }
    return {};
  }
  for (const std::string_view name : {"attr_matrix", "attr"}) {
    if (!file.has(name)) {
      continue;
    }
    RUDDER_ASSIGN(const NpyArray array, file.read(name));
    if (array.shape().size() != 2 || array.shape()[0] != nodes) {
      return invalid(array.where(),
                     fmt::format("shape ({}) for {} nodes", fmt::join(array.shape(), ", "), nodes));
    }
    RUDDER_TRY(allocate_rows(data, nodes, array.shape()[1], limit, array.where()));
    RUDDER_ASSIGN(const std::vector<float> values, array.to_f32());
    const auto bytes = std::as_bytes(std::span(values));
    data.rows.assign(bytes.begin(), bytes.end());
    return {};
  }
  return invalid(where, "neither attr_indptr nor attr_matrix; the file has " + file.names());
}

EdgeList edges_of(SparseRows adjacency) {
  EdgeList edges;
  edges.source.reserve(adjacency.indices.size());
  for (std::size_t v = 0; v < adjacency.rows; ++v) {
    const auto degree = static_cast<std::size_t>(adjacency.indptr[v + 1] - adjacency.indptr[v]);
    edges.source.insert(edges.source.end(), degree, static_cast<NodeId>(v));
  }
  edges.target = std::move(adjacency.indices);
  return edges;
}

}  // namespace

Result<GraphData> import_npz(const std::filesystem::path& source, const ImportOptions& options) {
  const std::size_t limit = memory_limit_of(options);
  RUDDER_ASSIGN(NpzFile file, NpzFile::open(source, limit));
  const std::string prefix = matrix_prefix(file, "adj");
  if (prefix.empty()) {
    return invalid(file.where(), "no adj_indptr or adj_matrix.indptr; the file has " + file.names());
  }
  // The values of the adjacency are weights, all ones in these sets; the structure alone is taken.
  RUDDER_ASSIGN(SparseRows adjacency, read_sparse(file, prefix, false));
  if (adjacency.rows != adjacency.columns) {
    return invalid(file.where(), fmt::format("the adjacency is {} x {}", adjacency.rows, adjacency.columns));
  }
  const std::size_t nodes = adjacency.rows;
  GraphData data;
  data.origin = {{"source", "npz: " + base_name(source)},
                 {"edges_listed", std::to_string(adjacency.indices.size())},
                 {"edge_weights", "not kept"},
                 {"split", "60/20/20 by hash of seed and node"},
                 {"seed", std::to_string(options.seed)}};
  RUDDER_TRY(read_features(file, data, nodes, limit));
  RUDDER_ASSIGN(const NpyArray labels, file.read("labels"));
  RUDDER_TRY(set_labels(data, labels, nodes));
  RUDDER_TRY(set_structure(data, static_cast<NodeId>(nodes), edges_of(std::move(adjacency)), file.where()));
  add_random_split(data, SplitShares{}, options.seed);
  return data;
}

}  // namespace rudder::graph
