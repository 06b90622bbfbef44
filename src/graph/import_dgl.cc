// SPDX-License-Identifier: Apache-2.0
// DGL partition folders: the parts of a homogeneous graph, merged back into one.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"

#include "graph/dgl_container.h"
#include "graph/dgl_metadata.h"
#include "graph/elements.h"
#include "graph/import_common.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

/// Collects what the parts own.
class Merger {
 public:
  Merger(const DglMetadata& metadata, std::size_t limit) : metadata_(metadata), limit_(limit) {}

  Status start() {
    const auto nodes = static_cast<std::size_t>(metadata_.nodes);
    const auto edges = static_cast<std::size_t>(metadata_.edges);
    if (nodes > limit_ / sizeof(std::int64_t) || edges > limit_ / (2 * sizeof(NodeId))) {
      return over_limit(metadata_.graph_name, fmt::format("{} nodes and {} edges", nodes, edges), limit_);
    }
    labels_.assign(nodes, -1);
    edges_.source.assign(edges, kNoNode);
    edges_.target.assign(edges, kNoNode);
    return {};
  }

  Status add_part(std::size_t p) {
    const DglMetadata::PartFiles& files = metadata_.parts[p];
    RUDDER_TRY(add_structure(p, files.graph));
    RUDDER_TRY(add_tensors(p, files.node_features));
    return add_original_ids(p, files.graph.parent_path() / "orig_nids.dgl");
  }

  Result<GraphData> finish(const ImportOptions& options, std::string origin_source) {
    const auto missing = std::find(edges_.source.begin(), edges_.source.end(), kNoNode);
    if (missing != edges_.source.end()) {
      return invalid(metadata_.graph_name,
                     fmt::format("edge {} is an inner edge of no part", missing - edges_.source.begin()));
    }
    const bool some = !data_.train.empty() || !data_.val.empty() || !data_.test.empty();
    data_.origin = {
        {"source", std::move(origin_source)},
        {"parts_merged", std::to_string(metadata_.parts.size())},
        {"edges_listed", std::to_string(edges_.source.size())},
        {"ids", data_.original_ids.empty() ? "as DGL relabelled them; the partition keeps no others"
                                           : "as DGL relabelled them; original_ids.npy from orig_nids.dgl"},
        {"labels", has_labels_ ? "as given" : "none in the partition"},
        {"split", some ? "as given" : "60/20/20 of the labelled nodes by hash of seed and node"}};
    if (!some) {
      data_.origin.emplace_back("seed", std::to_string(options.seed));
    }
    RUDDER_TRY(set_labels(data_, std::move(labels_), metadata_.graph_name));
    RUDDER_TRY(set_structure(data_, metadata_.nodes, std::move(edges_), metadata_.graph_name));
    if (!some) {
      add_random_split(data_, SplitShares{}, options.seed);
    }
    return std::move(data_);
  }

 private:
  [[nodiscard]] NodeId begin(std::size_t p) const { return metadata_.node_offsets[p]; }
  [[nodiscard]] std::size_t owned(std::size_t p) const {
    return static_cast<std::size_t>(metadata_.node_offsets[p + 1] - metadata_.node_offsets[p]);
  }

  Status add_structure(std::size_t p, const std::filesystem::path& path);
  Status add_edges(std::size_t p, const DglGraph& graph, const std::vector<std::int64_t>& ids,
                   const std::string& where);
  Status add_tensors(std::size_t p, const std::filesystem::path& path);
  Status add_features(std::size_t p, const DglTensor& tensor, const std::string& where);
  Status add_original_ids(std::size_t p, const std::filesystem::path& path);
  /// The first of these features of the part, or nullptr; an error when it has not one row an owned node.
  Result<const DglTensor*> feature_of(std::size_t p, const DglTensors& tensors,
                                      std::initializer_list<std::string_view> names,
                                      const std::string& where) const;

  const DglMetadata& metadata_;
  std::size_t limit_;
  GraphData data_;
  std::vector<std::int64_t> labels_;
  EdgeList edges_;
  bool has_labels_ = false;
};

Result<std::vector<std::int64_t>> id_tensor(const DglTensors& tensors, std::string_view name,
                                            std::size_t count, const std::string& where) {
  const DglTensor* tensor = find_tensor(tensors, name);
  if (tensor == nullptr || tensor->shape.size() != 1 || tensor->rows() != count) {
    return invalid(where, fmt::format("'{}' is missing or does not have {} elements", name, count));
  }
  return elements_to_int64(tensor->dtype, tensor->bytes, fmt::format("{}: {}", where, name));
}

Status Merger::add_structure(std::size_t p, const std::filesystem::path& path) {
  const std::string where = path.string();
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const DglGraphFile container, read_dgl_graphs(file.bytes(), where));
  if (container.graphs.size() != 1) {
    return invalid(where, fmt::format("{} graphs, one is expected", container.graphs.size()));
  }
  const DglGraph& graph = container.graphs.front();
  if (graph.node_types.size() != 1 || graph.edge_types.size() != 1) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: a heterogeneous graph with the node types {} and the edge types {}", where,
                             shown(fmt::format("{}", fmt::join(graph.node_types, ", ")), 200),
                             shown(fmt::format("{}", fmt::join(graph.edge_types, ", ")), 200))};
  }
  const std::int64_t nodes = graph.nodes_per_type.front();
  if (nodes < 0) {
    return invalid(where, fmt::format("{} nodes", nodes));
  }
  const auto count = static_cast<std::size_t>(nodes);
  RUDDER_ASSIGN(const std::vector<std::int64_t> ids,
                id_tensor(graph.node_tensors.front(), "_ID", count, where));
  RUDDER_ASSIGN(const std::vector<std::int64_t> inner,
                id_tensor(graph.node_tensors.front(), "inner_node", count, where));
  std::vector<bool> seen(owned(p));
  for (std::size_t v = 0; v < count; ++v) {
    if (ids[v] < 0 || ids[v] >= metadata_.nodes) {
      return invalid(where,
                     fmt::format("node {} has the id {}, outside [0, {})", v, ids[v], metadata_.nodes));
    }
    if (inner[v] == 0) {
      continue;
    }
    const NodeId place = ids[v] - begin(p);
    if (place < 0 || static_cast<std::size_t>(place) >= seen.size() ||
        seen[static_cast<std::size_t>(place)]) {
      return invalid(
          where, fmt::format("inner node {} has the id {}, which is not this part's or repeated", v, ids[v]));
    }
    seen[static_cast<std::size_t>(place)] = true;
  }
  if (const auto hole = std::find(seen.begin(), seen.end(), false); hole != seen.end()) {
    return invalid(
        where, fmt::format("node {} of this part is not an inner node", begin(p) + (hole - seen.begin())));
  }
  return add_edges(p, graph, ids, where);
}

Status Merger::add_edges(std::size_t, const DglGraph& graph, const std::vector<std::int64_t>& ids,
                         const std::string& where) {
  RUDDER_ASSIGN(const DglEdges edges,
                dgl_edges(graph.relations.front(), static_cast<std::int64_t>(ids.size()), where));
  const std::size_t count = edges.source.size();
  RUDDER_ASSIGN(const std::vector<std::int64_t> edge_ids,
                id_tensor(graph.edge_tensors.front(), "_ID", count, where));
  RUDDER_ASSIGN(const std::vector<std::int64_t> inner,
                id_tensor(graph.edge_tensors.front(), "inner_edge", count, where));
  for (std::size_t e = 0; e < count; ++e) {
    if (inner[e] == 0) {
      continue;
    }
    const std::int64_t id = edge_ids[e];
    if (id < 0 || id >= metadata_.edges || edges_.source[static_cast<std::size_t>(id)] != kNoNode) {
      return invalid(
          where, fmt::format("inner edge {} has the id {}, which is outside [0, {}) or another part's too", e,
                             id, metadata_.edges));
    }
    edges_.source[static_cast<std::size_t>(id)] = ids[static_cast<std::size_t>(edges.source[e])];
    edges_.target[static_cast<std::size_t>(id)] = ids[static_cast<std::size_t>(edges.target[e])];
  }
  return {};
}

Result<const DglTensor*> Merger::feature_of(std::size_t p, const DglTensors& tensors,
                                            std::initializer_list<std::string_view> names,
                                            const std::string& where) const {
  for (const std::string_view name : names) {
    const std::string key = fmt::format("{}/{}", metadata_.node_type, name);
    const DglTensor* tensor = find_tensor(tensors, key);
    if (tensor == nullptr) {
      continue;
    }
    if (tensor->rows() != owned(p) || tensor->shape.empty()) {
      return invalid(where,
                     fmt::format("'{}' has {} rows, the part owns {} nodes", key, tensor->rows(), owned(p)));
    }
    return tensor;
  }
  return static_cast<const DglTensor*>(nullptr);
}

Status Merger::add_features(std::size_t p, const DglTensor& tensor, const std::string& where) {
  if (tensor.shape.size() != 2) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: features of {} dimensions", where, tensor.shape.size())};
  }
  const bool keep = is_feature_type(tensor.dtype);
  const DType type = keep ? tensor.dtype : DType::kF32;
  const std::size_t columns = tensor.shape[1];
  if (p == 0) {
    RUDDER_TRY(allocate_rows(data_, static_cast<std::size_t>(metadata_.nodes), columns, limit_, where));
    data_.dtype = type;
    data_.rows.resize(static_cast<std::size_t>(metadata_.nodes) * columns * size_of(type));
  } else if (columns != data_.features || type != data_.dtype) {
    return invalid(where, fmt::format("features of {} {} columns, part 0 has {} {}", columns, name_of(type),
                                      data_.features, name_of(data_.dtype)));
  }
  std::byte* out = data_.rows.data() + static_cast<std::size_t>(begin(p)) * columns * size_of(type);
  const std::vector<float> widened =
      keep ? std::vector<float>() : elements_to_f32(tensor.dtype, tensor.bytes);
  const std::span<const std::byte> bytes = keep ? tensor.bytes : std::as_bytes(std::span(widened));
  if (!bytes.empty()) {
    std::memcpy(out, bytes.data(), bytes.size());
  }
  return {};
}

Status Merger::add_tensors(std::size_t p, const std::filesystem::path& path) {
  const std::string where = path.string();
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const DglTensors tensors, read_dgl_tensors(file.bytes(), where));
  RUDDER_ASSIGN(const DglTensor* features, feature_of(p, tensors, {"feat", "features", "x"}, where));
  if (features == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) {
      names.push_back(name);
    }
    return invalid(where, fmt::format("no {0}/feat, {0}/features or {0}/x; it has {1}", metadata_.node_type,
                                      shown(fmt::format("{}", fmt::join(names, ", ")), 300)));
  }
  RUDDER_TRY(add_features(p, *features, where));
  RUDDER_ASSIGN(const DglTensor* labels, feature_of(p, tensors, {"label", "labels", "y"}, where));
  if (labels != nullptr) {
    const bool one_column = labels->shape.size() == 1 || (labels->shape.size() == 2 && labels->shape[1] == 1);
    if (!one_column) {
      return Error{Errc::kUnsupported, where + ": several labels a node; only one class is handled"};
    }
    has_labels_ = true;
    RUDDER_ASSIGN(const std::vector<std::int64_t> values,
                  elements_to_labels(labels->dtype, labels->bytes, where));
    std::copy(values.begin(), values.end(), labels_.begin() + begin(p));
  }
  for (const auto& [name, split] : {std::pair("train_mask", &data_.train), std::pair("val_mask", &data_.val),
                                    std::pair("test_mask", &data_.test)}) {
    RUDDER_ASSIGN(const DglTensor* mask, feature_of(p, tensors, {name}, where));
    if (mask == nullptr) {
      continue;
    }
    RUDDER_ASSIGN(const std::vector<std::int64_t> flags, elements_to_int64(mask->dtype, mask->bytes, where));
    if (flags.size() != owned(p)) {
      return invalid(where, fmt::format("'{}' has {} elements for {} nodes", name, flags.size(), owned(p)));
    }
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] != 0) {
        split->push_back(begin(p) + static_cast<NodeId>(i));
      }
    }
  }
  return {};
}

Status Merger::add_original_ids(std::size_t p, const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    if (p > 0 && !data_.original_ids.empty()) {
      return Error{Errc::kNotFound, path.string() + ": is missing, but part 0 has one"};
    }
    return {};
  }
  const std::string where = path.string();
  if (data_.original_ids.size() != static_cast<std::size_t>(begin(p))) {
    return invalid(where, "part 0 has no such file");
  }
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const DglTensors tensors, read_dgl_tensors(file.bytes(), where));
  RUDDER_ASSIGN(const std::vector<std::int64_t> ids,
                id_tensor(tensors, metadata_.node_type, owned(p), where));
  data_.original_ids.insert(data_.original_ids.end(), ids.begin(), ids.end());
  return {};
}

}  // namespace

Result<GraphData> import_dgl(const std::filesystem::path& source, const ImportOptions& options) {
  RUDDER_ASSIGN(const DglMetadata metadata, read_dgl_metadata(source));
  Merger merger(metadata, memory_limit_of(options));
  RUDDER_TRY(merger.start());
  for (std::size_t p = 0; p < metadata.parts.size(); ++p) {
    RUDDER_TRY(merger.add_part(p));
  }
  return merger.finish(options, "dgl: " + shown(metadata.graph_name));
}

}  // namespace rudder::graph
