// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/graph.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"

#include "graph/json_text.h"

namespace rudder::graph {
namespace {

constexpr std::string_view kFormat = "rudder-graph";
constexpr std::int64_t kVersion = 1;

using Json = nlohmann::ordered_json;

/// What write_graph() and Graph::open() both check.
struct Contents {
  CscView topology;
  std::size_t features = 0;
  DType dtype = DType::kF32;
  std::size_t rows_bytes = 0;
  std::span<const std::int64_t> labels;
  std::int64_t classes = 0;
  std::span<const NodeId> train, val, test;
  std::span<const std::int64_t> original_ids;
};

Error invalid(const std::string& where, std::string_view what) {
  return {Errc::kInvalidData, fmt::format("{}: {}", where, what)};
}

Status check_split(std::span<const NodeId> split, NodeId nodes, std::string_view name,
                   const std::string& where) {
  NodeId previous = -1;
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (split[i] < 0 || split[i] >= nodes) {
      return invalid(where, fmt::format("{}[{}] is {}, outside [0, {})", name, i, split[i], nodes));
    }
    if (split[i] <= previous) {
      return invalid(where,
                     fmt::format("{}[{}] is {} after {}; ids must ascend", name, i, split[i], previous));
    }
    previous = split[i];
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
  if (contents.labels.size() != nodes) {
    return invalid(where, fmt::format("{} labels for {} nodes", contents.labels.size(), nodes));
  }
  if (contents.classes < 0) {
    return invalid(where, fmt::format("{} classes", contents.classes));
  }
  for (std::size_t v = 0; v < nodes; ++v) {
    if (contents.labels[v] < -1 || contents.labels[v] >= contents.classes) {
      return invalid(
          where, fmt::format("labels[{}] is {}, outside [-1, {})", v, contents.labels[v], contents.classes));
    }
  }
  if (!contents.original_ids.empty() && contents.original_ids.size() != nodes) {
    return invalid(where, fmt::format("{} original ids for {} nodes", contents.original_ids.size(), nodes));
  }
  RUDDER_TRY(check_split(contents.train, contents.topology.nodes(), "train", where));
  RUDDER_TRY(check_split(contents.val, contents.topology.nodes(), "val", where));
  return check_split(contents.test, contents.topology.nodes(), "test", where);
}

EdgeIndex max_degree_of(const CscView& csc) {
  EdgeIndex best = 0;
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    best = std::max(best, csc.degree(v));
  }
  return best;
}

/// Creates the directory, or makes sure that it is empty.
Status prepare_directory(const std::filesystem::path& directory) {
  RUDDER_TRY(make_directories(directory));
  std::error_code error;
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) {
    return Error{Errc::kIo, fmt::format("{}: {}", directory.string(), error.message())};
  }
  if (!empty) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: is not empty; choose another folder or remove it", directory.string())};
  }
  return {};
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
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["nodes"] = data.labels.size();
  json["edges"] = data.indices.size();
  json["features"] = data.features;
  json["dtype"] = name_of(data.dtype);
  json["classes"] = data.classes;
  json["train"] = data.train.size();
  json["val"] = data.val.size();
  json["test"] = data.test.size();
  json["max_degree"] = max_degree;
  json["original_ids"] = !data.original_ids.empty();
  json["origin"] = std::move(origin);
  // Names from foreign files may hold bytes that are not UTF-8; they are replaced rather than refused.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Reads the members of one JSON object; the first problem stays.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  std::int64_t count(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      return fail(fmt::format("'{}' is missing", key));
    }
    const bool fits = found->is_number_unsigned() ? found->get<std::uint64_t>() <= kMaxCount : false;
    if (!fits) {
      return fail(fmt::format("'{}' is {}, not a count", key, shown(*found)));
    }
    return found->get<std::int64_t>();
  }
  std::string text(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) {
      fail(fmt::format("'{}' is missing or not a text", key));
      return {};
    }
    return found->get<std::string>();
  }
  bool flag(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_boolean()) {
      fail(fmt::format("'{}' is missing or neither true nor false", key));
      return false;
    }
    return found->get<bool>();
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  // Leaves room for sums and for 8-byte elements.
  static constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 56;

  static std::string shown(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
  }
  std::int64_t fail(const std::string& what) {
    if (status_.ok()) {
      status_ = invalid(where_, what);
    }
    return 0;
  }

  const Json& json_;
  std::string where_;
  Status status_;
};

struct MetaFile {
  GraphMeta meta;
  bool original_ids = false;
};

Status read_origin(const Json& json, Origin& origin, const std::string& where) {
  const auto found = json.find("origin");
  if (found == json.end() || !found->is_object()) {
    return invalid(where, "'origin' is missing or not an object");
  }
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      return invalid(where, fmt::format("origin's '{}' is not a text", key));
    }
    origin.emplace_back(key, value.get<std::string>());
  }
  return {};
}

Result<MetaFile> read_meta(const std::filesystem::path& path) {
  const std::string where = path.string();
  RUDDER_ASSIGN(const std::string text, read_json_text(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return invalid(where, "not a JSON object");
  }
  Members members(json, where);
  const std::string format = members.text("format");
  RUDDER_TRY(members.status());
  if (format != kFormat) {
    return invalid(where, fmt::format("format '{}', not '{}'", format.substr(0, 60), kFormat));
  }
  const std::int64_t version = members.count("version");
  RUDDER_TRY(members.status());
  if (version != kVersion) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: version {}; this program reads {}", where, version, kVersion)};
  }
  MetaFile file;
  GraphMeta& meta = file.meta;
  meta.nodes = members.count("nodes");
  meta.edges = members.count("edges");
  meta.features = static_cast<std::size_t>(members.count("features"));
  meta.classes = members.count("classes");
  meta.train = static_cast<std::size_t>(members.count("train"));
  meta.val = static_cast<std::size_t>(members.count("val"));
  meta.test = static_cast<std::size_t>(members.count("test"));
  meta.max_degree = members.count("max_degree");
  file.original_ids = members.flag("original_ids");
  const std::string dtype = members.text("dtype");
  RUDDER_TRY(members.status());
  const std::optional<DType> type = dtype_from_name(dtype);
  if (!type || !is_feature_type(*type)) {
    return invalid(where, fmt::format("dtype '{}'; f32, f16 and bf16 are known", dtype.substr(0, 60)));
  }
  meta.dtype = *type;
  RUDDER_TRY(read_origin(json, meta.origin, where));
  return file;
}

/// Opens a one-dimensional i64 array of exactly `length` elements.
Status open_vector(const std::filesystem::path& path, std::size_t length, NpyArray& array,
                   std::span<const std::int64_t>& view) {
  RUDDER_ASSIGN(array, NpyArray::open(path));
  RUDDER_ASSIGN(view, array.vector_of<std::int64_t>());
  if (view.size() != length) {
    return invalid(path.string(), fmt::format("{} elements; graph.json says {}", view.size(), length));
  }
  return {};
}

Status open_features(const std::filesystem::path& path, const GraphMeta& meta, NpyArray& array) {
  RUDDER_ASSIGN(array, NpyArray::open(path));
  // NumPy has no bf16: its bits are stored as u16.
  const DType stored = meta.dtype == DType::kBF16 ? DType::kU16 : meta.dtype;
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(meta.nodes), meta.features};
  if (array.dtype() != stored || array.shape() != shape) {
    return invalid(path.string(),
                   fmt::format("{} of shape ({}); graph.json says {} of shape ({})", name_of(array.dtype()),
                               fmt::join(array.shape(), ", "), name_of(stored), fmt::join(shape, ", ")));
  }
  return {};
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
  contents.classes = data.classes;
  contents.train = data.train;
  contents.val = data.val;
  contents.test = data.test;
  contents.original_ids = data.original_ids;
  RUDDER_TRY(check_contents(contents, where));
  RUDDER_ASSIGN(const std::string text, meta_text(data, max_degree_of(contents.topology), where));
  RUDDER_TRY(prepare_directory(directory));
  RUDDER_TRY(write_npy(directory / "indptr.npy", data.indptr));
  RUDDER_TRY(write_npy(directory / "indices.npy", data.indices));
  const std::vector<std::size_t> shape = {data.labels.size(), data.features};
  RUDDER_TRY(write_npy(directory / "features.npy", data.dtype, shape, data.rows));
  RUDDER_TRY(write_npy(directory / "labels.npy", data.labels));
  RUDDER_TRY(write_npy(directory / "train.npy", data.train));
  RUDDER_TRY(write_npy(directory / "val.npy", data.val));
  RUDDER_TRY(write_npy(directory / "test.npy", data.test));
  if (!data.original_ids.empty()) {
    RUDDER_TRY(write_npy(directory / "original_ids.npy", data.original_ids));
  }
  return write_text(directory / "graph.json", text);
}

Result<Graph> Graph::open(const std::filesystem::path& directory) {
  RUDDER_ASSIGN(MetaFile file, read_meta(directory / "graph.json"));
  Graph graph;
  graph.directory_ = directory;
  graph.meta_ = std::move(file.meta);
  const GraphMeta& meta = graph.meta_;
  const auto nodes = static_cast<std::size_t>(meta.nodes);
  RUDDER_TRY(open_vector(directory / "indptr.npy", nodes + 1, graph.indptr_, graph.topology_.indptr));
  RUDDER_TRY(open_vector(directory / "indices.npy", static_cast<std::size_t>(meta.edges), graph.indices_,
                         graph.topology_.indices));
  RUDDER_TRY(open_features(directory / "features.npy", meta, graph.features_));
  RUDDER_TRY(open_vector(directory / "labels.npy", nodes, graph.labels_, graph.labels_view_));
  RUDDER_TRY(open_vector(directory / "train.npy", meta.train, graph.train_, graph.train_view_));
  RUDDER_TRY(open_vector(directory / "val.npy", meta.val, graph.val_, graph.val_view_));
  RUDDER_TRY(open_vector(directory / "test.npy", meta.test, graph.test_, graph.test_view_));
  if (file.original_ids) {
    RUDDER_TRY(open_vector(directory / "original_ids.npy", nodes, graph.original_, graph.original_view_));
  }
  Contents contents;
  contents.topology = graph.topology_;
  contents.features = meta.features;
  contents.dtype = meta.dtype;
  contents.rows_bytes = graph.features_.bytes().size();
  contents.labels = graph.labels_view_;
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

}  // namespace rudder::graph
