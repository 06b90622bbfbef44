// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/graph.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"

#include "graph/folder.h"
#include "graph/invalid.h"

namespace rudder::graph {
namespace {

using Json = nlohmann::ordered_json;

/// What write_graph() and Graph::open() both check.
struct Contents {
  CscView topology;
  std::size_t features = 0;
  DType dtype = DType::kF32;
  std::size_t rows_bytes = 0;
  std::span<const std::int64_t> labels;
  std::span<const std::uint8_t> label_rows;
  bool multi_label = false;
  std::int64_t classes = 0;
  std::span<const NodeId> train, val, test;
  std::span<const std::int64_t> original_ids;
};

Status check_labels(const Contents& contents, std::size_t nodes, const std::string& where) {
  if (contents.classes < 0) {
    return invalid(where, fmt::format("{} classes", contents.classes));
  }
  if (contents.multi_label) {
    const auto classes = static_cast<std::size_t>(contents.classes);
    if (classes == 0 || classes > contents.label_rows.size() || !contents.labels.empty() ||
        contents.label_rows.size() / classes != nodes || contents.label_rows.size() % classes != 0) {
      return invalid(where, fmt::format("{} single labels and {} values of rows of labels for {} nodes x {} "
                                        "classes",
                                        contents.labels.size(), contents.label_rows.size(), nodes, classes));
    }
    return check_label_rows(contents.label_rows, classes, where);
  }
  if (contents.labels.size() != nodes) {
    return invalid(where, fmt::format("{} labels for {} nodes", contents.labels.size(), nodes));
  }
  for (std::size_t v = 0; v < nodes; ++v) {
    if (contents.labels[v] < -1 || contents.labels[v] >= contents.classes) {
      return invalid(
          where, fmt::format("labels[{}] is {}, outside [-1, {})", v, contents.labels[v], contents.classes));
    }
  }
  return {};
}

Status check_contents(const Contents& contents, const std::string& where) {
  RUDDER_TRY(validate_csc(contents.topology, std::max<NodeId>(contents.topology.nodes(), 0), where));
  const auto nodes = static_cast<std::size_t>(contents.topology.nodes());
  if (!is_feature_type(contents.dtype)) {
    return invalid(where,
                   fmt::format("features of type {}; f32, f16 and bf16 are known", name_of(contents.dtype)));
  }
  const std::size_t row_bytes = contents.features * size_of(contents.dtype);
  if (contents.features > (std::size_t{1} << 32) ||
      contents.rows_bytes / std::max<std::size_t>(row_bytes, 1) != (row_bytes == 0 ? 0 : nodes) ||
      contents.rows_bytes != nodes * row_bytes) {
    return invalid(where, fmt::format("{} bytes of features for {} nodes x {} of {}", contents.rows_bytes,
                                      nodes, contents.features, name_of(contents.dtype)));
  }
  RUDDER_TRY(check_labels(contents, nodes, where));
  if (!contents.original_ids.empty() && contents.original_ids.size() != nodes) {
    return invalid(where, fmt::format("{} original ids for {} nodes", contents.original_ids.size(), nodes));
  }
  RUDDER_TRY(check_split(contents.train, 0, contents.topology.nodes(), "train", where));
  RUDDER_TRY(check_split(contents.val, 0, contents.topology.nodes(), "val", where));
  return check_split(contents.test, 0, contents.topology.nodes(), "test", where);
}

EdgeIndex max_degree_of(const CscView& csc) {
  EdgeIndex best = 0;
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    best = std::max(best, csc.degree(v));
  }
  return best;
}

Result<std::string> meta_text(const GraphData& data, EdgeIndex max_degree, const std::string& where) {
  Json origin = Json::object();
  for (const auto& [key, value] : data.origin) {
    if (origin.contains(key)) {
      return invalid(where, fmt::format("origin names '{}' twice", key));
    }
    origin[key] = value;
  }
  Json json = Json::object();
  json["format"] = kGraphFormat;
  json["version"] = kGraphVersion;
  json["nodes"] = data.indptr.size() - 1;
  json["edges"] = data.indices.size();
  json["features"] = data.features;
  json["dtype"] = name_of(data.dtype);
  json["classes"] = data.classes;
  if (!data.label_rows.empty()) {
    json[kLabelsKey] = kMultiLabel;
  }
  json["train"] = data.train.size();
  json["val"] = data.val.size();
  json["test"] = data.test.size();
  json["max_degree"] = max_degree;
  json["original_ids"] = !data.original_ids.empty();
  json["origin"] = std::move(origin);
  // Names from foreign files may hold bytes that are not UTF-8; they are replaced rather than refused.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Status validate_csc(const CscView& csc, NodeId index_limit, const std::string& where) {
  if (csc.indptr.empty() || csc.indptr.front() != 0) {
    return invalid(where, "indptr does not begin with 0");
  }
  const EdgeIndex edges = csc.edges();
  for (std::size_t v = 0; v + 1 < csc.indptr.size(); ++v) {
    const EdgeIndex begin = csc.indptr[v];
    const EdgeIndex end = csc.indptr[v + 1];
    if (end < begin || end > edges) {
      return invalid(where,
                     fmt::format("indptr[{}] is {}; it must lie in [{}, {}]", v + 1, end, begin, edges));
    }
    NodeId previous = -1;
    for (EdgeIndex e = begin; e < end; ++e) {
      const NodeId u = csc.indices[static_cast<std::size_t>(e)];
      if (u < 0 || u >= index_limit) {
        return invalid(where, fmt::format("indices[{}] is {}, outside [0, {})", e, u, index_limit));
      }
      if (u <= previous) {
        return invalid(where, fmt::format("indices[{}] is {} after {}; a node's neighbours must ascend", e, u,
                                          previous));
      }
      previous = u;
    }
  }
  if (csc.indptr.back() != edges) {
    return invalid(where,
                   fmt::format("indptr ends at {}, but indices has {} entries", csc.indptr.back(), edges));
  }
  return {};
}

Status write_graph(const std::filesystem::path& directory, const GraphData& data) {
  const std::string where = directory.string();
  Contents contents;
  contents.topology = {data.indptr, data.indices};
  contents.features = data.features;
  contents.dtype = data.dtype;
  contents.rows_bytes = data.rows.size();
  contents.labels = data.labels;
  contents.label_rows = data.label_rows;
  contents.multi_label = !data.label_rows.empty();
  contents.classes = data.classes;
  contents.train = data.train;
  contents.val = data.val;
  contents.test = data.test;
  contents.original_ids = data.original_ids;
  RUDDER_TRY(check_contents(contents, where));
  RUDDER_TRY(check_finite(data.dtype, data.rows, data.features, 0, where));
  RUDDER_ASSIGN(const std::string text, meta_text(data, max_degree_of(contents.topology), where));
  RUDDER_ASSIGN(NewFolder folder, NewFolder::create(directory));
  RUDDER_TRY(write_npy(directory / "indptr.npy", data.indptr));
  RUDDER_TRY(write_npy(directory / "indices.npy", data.indices));
  const std::vector<std::size_t> shape = {data.indptr.size() - 1, data.features};
  RUDDER_TRY(write_npy(directory / "features.npy", data.dtype, shape, data.rows));
  GraphMeta meta;
  meta.classes = data.classes;
  meta.multi_label = contents.multi_label;
  RUDDER_TRY(write_labels(directory / "labels.npy", meta, data.labels, data.label_rows));
  RUDDER_TRY(write_npy(directory / "train.npy", data.train));
  RUDDER_TRY(write_npy(directory / "val.npy", data.val));
  RUDDER_TRY(write_npy(directory / "test.npy", data.test));
  if (!data.original_ids.empty()) {
    RUDDER_TRY(write_npy(directory / "original_ids.npy", data.original_ids));
  }
  RUDDER_TRY(write_text(directory / "graph.json", text));
  folder.keep();
  return {};
}

Result<Graph> Graph::open(const std::filesystem::path& directory) {
  RUDDER_ASSIGN(MetaFile file, read_meta(directory / kGraphJson));
  Graph graph;
  graph.directory_ = directory;
  graph.meta_ = std::move(file.meta);
  const GraphMeta& meta = graph.meta_;
  const auto nodes = static_cast<std::size_t>(meta.nodes);
  RUDDER_TRY(
      open_vector(directory / "indptr.npy", kGraphJson, nodes + 1, graph.indptr_, graph.topology_.indptr));
  RUDDER_TRY(open_vector(directory / "indices.npy", kGraphJson, static_cast<std::size_t>(meta.edges),
                         graph.indices_, graph.topology_.indices));
  RUDDER_TRY(open_features(directory / "features.npy", kGraphJson, meta, meta.nodes, graph.features_));
  RUDDER_TRY(open_labels(directory / "labels.npy", kGraphJson, meta, meta.nodes, graph.labels_,
                         graph.labels_view_, graph.label_rows_view_));
  RUDDER_TRY(open_vector(directory / "train.npy", kGraphJson, meta.train, graph.train_, graph.train_view_));
  RUDDER_TRY(open_vector(directory / "val.npy", kGraphJson, meta.val, graph.val_, graph.val_view_));
  RUDDER_TRY(open_vector(directory / "test.npy", kGraphJson, meta.test, graph.test_, graph.test_view_));
  if (file.original_ids) {
    RUDDER_TRY(open_vector(directory / "original_ids.npy", kGraphJson, nodes, graph.original_,
                           graph.original_view_));
  }
  Contents contents;
  contents.topology = graph.topology_;
  contents.features = meta.features;
  contents.dtype = meta.dtype;
  contents.rows_bytes = graph.features_.bytes().size();
  contents.labels = graph.labels_view_;
  contents.label_rows = graph.label_rows_view_;
  contents.multi_label = meta.multi_label;
  contents.classes = meta.classes;
  contents.train = graph.train_view_;
  contents.val = graph.val_view_;
  contents.test = graph.test_view_;
  contents.original_ids = graph.original_view_;
  RUDDER_TRY(check_contents(contents, directory.string()));
  if (const EdgeIndex actual = max_degree_of(graph.topology_); actual != meta.max_degree) {
    return invalid((directory / "graph.json").string(),
                   fmt::format("max_degree is {}, but the structure has {}", meta.max_degree, actual));
  }
  return graph;
}

Status check_features(const Graph& graph) {
  return check_finite(graph.meta().dtype, graph.features(), graph.meta().features, 0,
                      (graph.directory() / "features.npy").string());
}

}  // namespace rudder::graph
