// SPDX-License-Identifier: Apache-2.0
// Raw folders of the Open Graph Benchmark's node-property sets: CSV.gz or npz, one homogeneous graph.
#include <algorithm>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "graph/csv.h"
#include "graph/elements.h"
#include "graph/import_common.h"
#include "graph/npz.h"

namespace rudder::graph {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Status refuse_heterogeneous(const fs::path& raw) {
  for (const char* name : {"relations", "num-node-dict.csv.gz", "triplet-type-list.csv.gz",
                           "edge_index_dict.npz", "num_nodes_dict.npz"}) {
    if (is_there(raw / name)) {
      return Error{
          Errc::kUnsupported,
          fmt::format("{}: a heterogeneous graph (it has {}); only graphs of one node and one edge type "
                      "are read",
                      raw.string(), name)};
    }
  }
  return {};
}

/// The one number of a file that has one line a graph.
Result<std::int64_t> one_count(const std::vector<std::int64_t>& counts, const std::string& where) {
  if (counts.size() != 1 || counts[0] < 0) {
    return invalid(where, counts.size() == 1 ? fmt::format("count {}", counts[0])
                                             : fmt::format("{} graphs, one is expected", counts.size()));
  }
  return counts[0];
}

/// Each node's features are the mean of its edges', at either end of which it may be; zeros without edges.
Status average_edge_features(const fs::path& file, const EdgeList& edges, NodeId nodes, GraphData& data,
                             std::size_t limit) {
  RUDDER_ASSIGN(const FloatTable table, read_float_table(file, limit));
  if (table.rows != edges.source.size()) {
    return invalid(file.string(), fmt::format("{} rows for {} edges", table.rows, edges.source.size()));
  }
  RUDDER_TRY(allocate_rows(data, static_cast<std::size_t>(nodes), table.columns, limit, file.string()));
  std::vector<float> sums(static_cast<std::size_t>(nodes) * table.columns);
  std::vector<float> counts(static_cast<std::size_t>(nodes));
  std::vector<float> row(table.columns);
  for (std::size_t e = 0; e < table.rows; ++e) {
    std::memcpy(row.data(), table.values.data() + e * table.columns * sizeof(float),
                table.columns * sizeof(float));
    const auto add_to = [&](NodeId v) {
      counts[static_cast<std::size_t>(v)] += 1;
      float* sum = sums.data() + static_cast<std::size_t>(v) * table.columns;
      std::transform(row.begin(), row.end(), sum, sum, std::plus<>());
    };
    for (const NodeId v : {edges.source[e], edges.target[e]}) {
      if (v < 0 || v >= nodes) {
        return invalid(file.string(), fmt::format("edge {}: node {} is outside [0, {})", e, v, nodes));
      }
    }
    add_to(edges.source[e]);
    if (edges.target[e] != edges.source[e]) {
      add_to(edges.target[e]);
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] /= std::max(counts[i / table.columns], 1.0F);
  }
  std::memcpy(data.rows.data(), sums.data(), data.rows.size());
  data.origin.emplace_back("features", "mean of the features of a node's edges");
  return {};
}

/// ogbn-proteins has features of edges only.
Status read_csv_features(const fs::path& raw, const EdgeList& edges, NodeId nodes, GraphData& data,
                         std::size_t limit) {
  const fs::path node_file = raw / "node-feat.csv.gz";
  if (const fs::path edge_file = raw / "edge-feat.csv.gz"; !is_there(node_file) && is_there(edge_file)) {
    return average_edge_features(edge_file, edges, nodes, data, limit);
  }
  RUDDER_ASSIGN(FloatTable table, read_float_table(node_file, limit));
  if (table.rows != static_cast<std::size_t>(nodes)) {
    return invalid(node_file.string(), fmt::format("{} rows for {} nodes", table.rows, nodes));
  }
  data.features = table.columns;
  data.rows = std::move(table.values);
  return {};
}

Status read_csv(const fs::path& raw, GraphData& data, EdgeList& edges, NodeId& nodes, std::size_t limit) {
  const fs::path nodes_file = raw / "num-node-list.csv.gz";
  RUDDER_ASSIGN(const std::vector<std::int64_t> counts, read_int_column(nodes_file, limit));
  RUDDER_ASSIGN(nodes, one_count(counts, nodes_file.string()));
  const fs::path edge_file = raw / "edge.csv.gz";
  RUDDER_TRY(for_each_int_row(edge_file, 2, [&](std::span<const std::int64_t> row) {
    if (edges.source.size() == edges.source.capacity() &&
        edges.source.size() > limit / (4 * sizeof(NodeId))) {
      return Status(
          over_limit(edge_file.string(), fmt::format("more than {} edges", edges.source.size()), limit));
    }
    edges.add(row[0], row[1]);
    return Status();
  }));
  if (const fs::path count_file = raw / "num-edge-list.csv.gz"; is_there(count_file)) {
    RUDDER_ASSIGN(const std::vector<std::int64_t> edge_counts, read_int_column(count_file, limit));
    RUDDER_ASSIGN(const std::int64_t expected, one_count(edge_counts, count_file.string()));
    if (static_cast<std::size_t>(expected) != edges.source.size()) {
      return invalid(edge_file.string(), fmt::format("{} edges, but {} says {}", edges.source.size(),
                                                     count_file.filename().string(), expected));
    }
  }
  RUDDER_TRY(read_csv_features(raw, edges, nodes, data, limit));
  const fs::path label_file = raw / "node-label.csv.gz";
  RUDDER_ASSIGN(LabelTable labels, read_labels(label_file, limit));
  if (labels.rows != static_cast<std::size_t>(nodes)) {
    return invalid(label_file.string(), fmt::format("{} labels for {} nodes", labels.rows, nodes));
  }
  return labels.columns == 1
             ? set_labels(data, std::move(labels.classes), label_file.string())
             : set_label_rows(data, std::move(labels.flags), labels.columns, label_file.string());
}

Status read_npz_edges(NpzFile& file, EdgeList& edges) {
  RUDDER_ASSIGN(const NpyArray array, file.read("edge_index"));
  if (array.shape().size() != 2 || array.shape()[0] != 2) {
    return invalid(array.where(),
                   fmt::format("shape ({}), (2, edges) is expected", fmt::join(array.shape(), ", ")));
  }
  const std::size_t half = array.bytes().size() / 2;
  RUDDER_ASSIGN(edges.source, elements_to_int64(array.dtype(), array.bytes().first(half), array.where()));
  RUDDER_ASSIGN(edges.target, elements_to_int64(array.dtype(), array.bytes().subspan(half), array.where()));
  return {};
}

/// Keeps f16 and f32 as they are stored; other types become f32.
Status read_npz_features(NpzFile& file, GraphData& data, std::size_t nodes, std::size_t limit) {
  RUDDER_ASSIGN(const NpyArray array, file.read("node_feat"));
  if (array.shape().size() != 2 || array.shape()[0] != nodes) {
    return invalid(array.where(),
                   fmt::format("shape ({}) for {} nodes", fmt::join(array.shape(), ", "), nodes));
  }
  RUDDER_TRY(allocate_rows(data, nodes, array.shape()[1], limit, array.where()));
  if (is_feature_type(array.dtype())) {
    data.dtype = array.dtype();
    data.rows.assign(array.bytes().begin(), array.bytes().end());
    return {};
  }
  const std::vector<float> values = elements_to_f32(array.dtype(), array.bytes());
  std::memcpy(data.rows.data(), values.data(), data.rows.size());
  return {};
}

Status read_npz(const fs::path& raw, GraphData& data, EdgeList& edges, NodeId& nodes, std::size_t limit) {
  RUDDER_ASSIGN(NpzFile file, NpzFile::open(raw / "data.npz", limit));
  RUDDER_ASSIGN(const NpyArray counts, file.read("num_nodes_list"));
  RUDDER_ASSIGN(const std::vector<std::int64_t> values, counts.to_int64());
  RUDDER_ASSIGN(nodes, one_count(values, counts.where()));
  RUDDER_TRY(read_npz_edges(file, edges));
  RUDDER_TRY(read_npz_features(file, data, static_cast<std::size_t>(nodes), limit));
  RUDDER_ASSIGN(NpzFile label_file, NpzFile::open(raw / "node-label.npz", limit));
  RUDDER_ASSIGN(const NpyArray array, label_file.read("node_label"));
  return set_labels(data, array, static_cast<std::size_t>(nodes));
}

/// The one folder under `split/` that has the three id lists.
Result<fs::path> find_split(const fs::path& source) {
  const fs::path base = source / "split";
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    if (is_there(it->path() / "train.csv.gz")) {
      found.push_back(it->path());
    }
  }
  if (error) {
    return Error{Errc::kNotFound, fmt::format("{}: {}", base.string(), error.message())};
  }
  if (found.size() != 1) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: {} folders with train.csv.gz, one is expected{}", base.string(),
                             found.size(), found.empty() ? " (split_dict.pt, a pickle, is not read)" : "")};
  }
  return found.front();
}

Status read_splits(const fs::path& split, GraphData& data, NodeId nodes, std::size_t limit) {
  for (const auto& [name, ids] :
       {std::pair("train", &data.train), std::pair("valid", &data.val), std::pair("test", &data.test)}) {
    const fs::path file = split / fmt::format("{}.csv.gz", name);
    RUDDER_ASSIGN(std::vector<std::int64_t> values, read_int_column(file, limit));
    RUDDER_TRY(set_split(*ids, std::move(values), nodes, file.string()));
  }
  return {};
}

}  // namespace

Result<GraphData> import_ogb(const fs::path& source, const ImportOptions& options) {
  const std::size_t limit = memory_limit_of(options);
  const fs::path raw = source / "raw";
  if (!is_there(raw)) {
    return Error{Errc::kNotFound,
                 fmt::format("{}: no folder raw/ in it; name the ogbn_* folder", source.string())};
  }
  RUDDER_TRY(refuse_heterogeneous(raw));
  const bool binary = is_there(raw / "data.npz");
  if (!binary && !is_there(raw / "edge.csv.gz")) {
    return Error{Errc::kNotFound, fmt::format("{}: neither edge.csv.gz nor data.npz", raw.string())};
  }
  RUDDER_ASSIGN(const fs::path split, find_split(source));
  GraphData data;
  EdgeList edges;
  NodeId nodes = 0;
  RUDDER_TRY(binary ? read_npz(raw, data, edges, nodes, limit) : read_csv(raw, data, edges, nodes, limit));
  RUDDER_TRY(read_splits(split, data, nodes, limit));
  const Origin origin = {{"source", "ogb: " + base_name(source)},
                         {"edges_listed", std::to_string(edges.source.size())},
                         {"split", "as given: " + split.filename().string()}};
  data.origin.insert(data.origin.begin(), origin.begin(), origin.end());
  RUDDER_TRY(set_structure(data, nodes, std::move(edges), raw.string()));
  return data;
}

}  // namespace rudder::graph
