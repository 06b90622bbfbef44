// SPDX-License-Identifier: Apache-2.0
#include "graph/import_common.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/core/text.h"

#include "graph/elements.h"
#include "graph/seeded.h"

namespace rudder::graph {

std::size_t memory_limit_of(const ImportOptions& options) {
  return options.memory_limit != 0 ? options.memory_limit : available_memory_bytes() / 2;
}

Error over_limit(const std::string& where, std::string_view what, std::size_t limit) {
  return {Errc::kResource, fmt::format("{}: {} would take more than the {} allowed", where, what,
                                       human_bytes(static_cast<double>(limit)))};
}

std::string shown(std::string_view text, std::size_t length) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= length) {
      return out + "...";
    }
    if (c >= ' ' && c <= '~' && c != '\\') {
      out.push_back(c);
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string base_name(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path full = std::filesystem::absolute(path, ignored).lexically_normal();
  return (full.has_filename() ? full.filename() : full.parent_path().filename()).string();
}

Status allocate_rows(GraphData& data, std::size_t nodes, std::size_t columns, std::size_t limit,
                     const std::string& where) {
  if (columns == 0 || columns > kMaxFeatures) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: {} feature columns; 1 to {} are read", where, columns, kMaxFeatures)};
  }
  if (nodes > limit / (columns * sizeof(float))) {
    return over_limit(where, fmt::format("features of {} nodes x {}", nodes, columns), limit);
  }
  data.dtype = DType::kF32;
  data.features = columns;
  data.rows.assign(nodes * columns * sizeof(float), std::byte{0});
  return {};
}

Status set_structure(GraphData& data, NodeId nodes, EdgeList edges, const std::string& where) {
  // build_csc() peaks at 24 bytes an edge given, or 40 a distinct pair; offsets take 8 a node in each of four
  // arrays.
  const std::size_t needed =
      40 * edges.source.size() + 32 * static_cast<std::size_t>(std::max<NodeId>(nodes, 0));
  if (const std::size_t available = available_memory_bytes(); needed > available) {
    return over_limit(where, fmt::format("ordering {} edges of {} nodes", edges.source.size(), nodes),
                      available);
  }
  DropReport report;
  auto csc = build_csc(nodes, std::move(edges), Direction::kUndirected, report);
  if (!csc.ok()) {
    return csc.error().in(where);
  }
  data.indptr = std::move(csc->indptr);
  data.indices = std::move(csc->indices);
  const auto pairs = static_cast<std::int64_t>(data.indices.size() / 2);
  report.duplicates -= report.both_directions;
  data.origin.emplace_back("symmetrised", "true");
  data.origin.emplace_back("opposite_edges_added", std::to_string(pairs - report.both_directions));
  report.append_to(data.origin);
  return {};
}

Status set_labels(GraphData& data, std::vector<std::int64_t> labels, const std::string& where) {
  std::int64_t largest = -1;
  for (std::size_t v = 0; v < labels.size(); ++v) {
    if (labels[v] < -1 || labels[v] >= kMaxClasses) {
      return invalid(where,
                     fmt::format("label {} of node {} is outside [-1, {})", labels[v], v, kMaxClasses));
    }
    largest = std::max(largest, labels[v]);
  }
  data.labels = std::move(labels);
  data.classes = largest + 1;
  return {};
}

Status set_labels(GraphData& data, const NpyArray& array, std::size_t nodes) {
  const std::vector<std::size_t>& shape = array.shape();
  if (shape.empty() || shape.size() > 2 || shape[0] != nodes || (shape.size() == 2 && shape[1] == 0)) {
    return invalid(array.where(), fmt::format("shape ({}) for {} nodes", fmt::join(shape, ", "), nodes));
  }
  if (shape.size() == 1 || shape[1] == 1) {
    RUDDER_ASSIGN(std::vector<std::int64_t> labels,
                  elements_to_labels(array.dtype(), array.bytes(), array.where()));
    return set_labels(data, std::move(labels), array.where());
  }
  RUDDER_ASSIGN(std::vector<std::uint8_t> flags,
                elements_to_flags(array.dtype(), array.bytes(), array.where()));
  return set_label_rows(data, std::move(flags), shape[1], array.where());
}

Status set_label_rows(GraphData& data, std::vector<std::uint8_t> label_rows, std::size_t classes,
                      const std::string& where) {
  if (classes > kMaxFeatures) {
    return invalid(where, fmt::format("{} label columns, at most {} are read", classes, kMaxFeatures));
  }
  data.label_rows = std::move(label_rows);
  data.classes = static_cast<std::int64_t>(classes);
  return {};
}

Status set_split(std::vector<NodeId>& split, std::vector<std::int64_t> ids, NodeId nodes,
                 const std::string& where) {
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && (ids.front() < 0 || ids.back() >= nodes)) {
    return invalid(
        where, fmt::format("node {} is outside [0, {})", ids.front() < 0 ? ids.front() : ids.back(), nodes));
  }
  if (const auto repeat = std::adjacent_find(ids.begin(), ids.end()); repeat != ids.end()) {
    return invalid(where, fmt::format("node {} is named twice", *repeat));
  }
  split = std::move(ids);
  return {};
}

Status validate_sparse(const SparseRows& matrix, const std::string& where) {
  if (matrix.indptr.size() != matrix.rows + 1 || matrix.indptr.front() != 0 ||
      matrix.indptr.back() != static_cast<std::int64_t>(matrix.indices.size())) {
    return invalid(
        where,
        fmt::format("indptr of {} entries from {} to {} does not fit {} rows and {} indices",
                    matrix.indptr.size(), matrix.indptr.empty() ? 0 : matrix.indptr.front(),
                    matrix.indptr.empty() ? 0 : matrix.indptr.back(), matrix.rows, matrix.indices.size()));
  }
  if (const auto drop = std::is_sorted_until(matrix.indptr.begin(), matrix.indptr.end());
      drop != matrix.indptr.end()) {
    return invalid(where,
                   fmt::format("indptr decreases to {} at row {}", *drop, drop - matrix.indptr.begin()));
  }
  if (!matrix.values.empty() && matrix.values.size() != matrix.indices.size()) {
    return invalid(where,
                   fmt::format("{} values for {} indices", matrix.values.size(), matrix.indices.size()));
  }
  for (std::size_t i = 0; i < matrix.indices.size(); ++i) {
    if (matrix.indices[i] < 0 || static_cast<std::size_t>(matrix.indices[i]) >= matrix.columns) {
      return invalid(where,
                     fmt::format("index {} is {}, outside [0, {})", i, matrix.indices[i], matrix.columns));
    }
  }
  return {};
}

void add_sparse_row(const SparseRows& matrix, std::size_t row, GraphData& data, NodeId node) {
  std::byte* out = data.rows.data() + static_cast<std::size_t>(node) * data.features * sizeof(float);
  for (auto i = static_cast<std::size_t>(matrix.indptr[row]);
       i < static_cast<std::size_t>(matrix.indptr[row + 1]); ++i) {
    std::byte* place = out + static_cast<std::size_t>(matrix.indices[i]) * sizeof(float);
    float value = 0;
    std::memcpy(&value, place, sizeof(value));
    value += matrix.values.empty() ? 1.0F : matrix.values[i];
    std::memcpy(place, &value, sizeof(value));
  }
}

}  // namespace rudder::graph
