// SPDX-License-Identifier: Apache-2.0
// The edges of a DGL relation, whichever sparse form holds them.
#include <algorithm>

#include <fmt/format.h>

#include "graph/dgl_container.h"
#include "graph/elements.h"
#include "graph/import_common.h"

namespace rudder::graph {
namespace {

Result<std::vector<std::int64_t>> ints(const DglTensor& tensor, std::string_view name,
                                       const std::string& where) {
  if (tensor.shape.size() != 1) {
    return invalid(where, fmt::format("{} has {} dimensions", name, tensor.shape.size()));
  }
  return elements_to_int64(tensor.dtype, tensor.bytes, where);
}

/// The row of each entry of a CSR matrix.
Result<std::vector<std::int64_t>> expand_rows(const std::vector<std::int64_t>& indptr, std::size_t entries,
                                              const std::string& where) {
  if (indptr.empty() || indptr.front() != 0 || indptr.back() != static_cast<std::int64_t>(entries) ||
      !std::is_sorted(indptr.begin(), indptr.end())) {
    return invalid(where, fmt::format("indptr does not ascend from 0 to {}", entries));
  }
  std::vector<std::int64_t> rows;
  rows.reserve(entries);
  for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
    rows.insert(rows.end(), static_cast<std::size_t>(indptr[row + 1] - indptr[row]),
                static_cast<std::int64_t>(row));
  }
  return rows;
}

/// values[ids[i]] = old values[i]; ids must be a permutation.
Status reorder(std::vector<std::int64_t>& values, const std::vector<std::int64_t>& ids,
               const std::string& where) {
  std::vector<std::int64_t> out(values.size(), -1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t id = ids[i];
    if (id < 0 || static_cast<std::size_t>(id) >= out.size() || out[static_cast<std::size_t>(id)] != -1) {
      return invalid(where, fmt::format("edge id {} at position {} is out of range or repeated", id, i));
    }
    out[static_cast<std::size_t>(id)] = values[i];
  }
  values = std::move(out);
  return {};
}

}  // namespace

Result<DglEdges> dgl_edges(const std::vector<DglSparse>& forms, std::int64_t nodes,
                           const std::string& where) {
  if (forms.empty()) {
    return invalid(where, "a relation without edges of any form");
  }
  const DglSparse& matrix = forms.front();
  if (nodes < 0 || matrix.rows != nodes || matrix.columns != nodes) {
    return invalid(where, fmt::format("a {} x {} adjacency of {} nodes", matrix.rows, matrix.columns, nodes));
  }
  RUDDER_ASSIGN(std::vector<std::int64_t> rows, ints(matrix.first, "the first array", where));
  RUDDER_ASSIGN(std::vector<std::int64_t> columns, ints(matrix.second, "the second array", where));
  if (matrix.form != DglSparse::Form::kCoo) {
    if (rows.size() != static_cast<std::size_t>(nodes) + 1) {
      return invalid(where, fmt::format("indptr has {} entries for {} nodes", rows.size(), nodes));
    }
    RUDDER_ASSIGN(rows, expand_rows(rows, columns.size(), where));
  }
  if (rows.size() != columns.size()) {
    return invalid(where, fmt::format("{} rows but {} columns", rows.size(), columns.size()));
  }
  for (const auto* ends : {&rows, &columns}) {
    const auto outside = std::find_if(ends->begin(), ends->end(),
                                      [&](std::int64_t node) { return node < 0 || node >= nodes; });
    if (outside != ends->end()) {
      return invalid(where, fmt::format("edge {} touches node {}, outside [0, {})", outside - ends->begin(),
                                        *outside, nodes));
    }
  }
  if (!matrix.edge_ids.bytes.empty()) {
    RUDDER_ASSIGN(const std::vector<std::int64_t> ids, ints(matrix.edge_ids, "the edge ids", where));
    if (ids.size() != rows.size()) {
      return invalid(where, fmt::format("{} edge ids for {} edges", ids.size(), rows.size()));
    }
    RUDDER_TRY(reorder(rows, ids, where));
    RUDDER_TRY(reorder(columns, ids, where));
  }
  DglEdges edges;
  const bool rows_are_targets = matrix.form == DglSparse::Form::kCsc;
  edges.source = std::move(rows_are_targets ? columns : rows);
  edges.target = std::move(rows_are_targets ? rows : columns);
  return edges;
}

}  // namespace rudder::graph
