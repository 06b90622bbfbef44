// SPDX-License-Identifier: Apache-2.0
#include "graph/dgl_metadata.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/import_common.h"
#include "graph/json_text.h"

namespace rudder::graph {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t kMaxParts = 1 << 16;

Result<fs::path> find_json(const fs::path& source) {
  std::error_code error;
  if (!fs::is_directory(source, error)) {
    return source;
  }
  std::vector<fs::path> found;
  for (fs::directory_iterator it(source, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") {
      found.push_back(it->path());
    }
  }
  if (error) {
    return Error{Errc::kIo, fmt::format("{}: {}", source.string(), error.message())};
  }
  if (found.size() != 1) {
    return Error{found.empty() ? Errc::kNotFound : Errc::kInvalidArgument,
                 fmt::format("{}: {} JSON files; name the partition's", source.string(), found.size())};
  }
  return found.front();
}

Result<std::int64_t> count_of(const Json& json, const char* key, const std::string& where) {
  constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 56;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > kMaxCount) {
    return invalid(where, fmt::format("'{}' is missing or not a count", key));
  }
  return found->get<std::int64_t>();
}

/// The one name of a table of types, or an error that lists them.
Result<std::string> one_type(const Json& json, const char* key, std::string_view what,
                             const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object() || found->empty()) {
    return invalid(where, fmt::format("'{}' is missing or not a table of names", key));
  }
  if (found->size() > 1) {
    std::string names;
    for (const auto& item : found->items()) {
      names += (names.empty() ? "" : ", ") + item.key();
    }
    return Error{Errc::kUnsupported,
                 fmt::format("{}: a heterogeneous graph with the {} types {}; only graphs of one "
                             "node and one edge type are read",
                             where, what, shown(names, 300))};
  }
  return found->items().begin().key();
}

Result<std::vector<NodeId>> read_ranges(const Json& json, const std::string& node_type, std::size_t parts,
                                        NodeId nodes, const std::string& where) {
  const auto map = json.find("node_map");
  if (map == json.end() || !map->is_object()) {
    return Error{Errc::kUnsupported,
                 where + ": 'node_map' is not a table of ranges (partition again with a current DGL)"};
  }
  const auto ranges = map->find(node_type);
  if (ranges == map->end() || !ranges->is_array() || ranges->size() != parts) {
    return invalid(where,
                   fmt::format("'node_map' has no list of {} ranges for '{}'", parts, shown(node_type)));
  }
  std::vector<NodeId> offsets = {0};
  for (const Json& range : *ranges) {
    const bool numbers = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                         range[1].is_number_unsigned();
    if (!numbers || range[0].get<std::uint64_t>() != static_cast<std::uint64_t>(offsets.back()) ||
        range[1].get<std::uint64_t>() < range[0].get<std::uint64_t>() ||
        range[1].get<std::uint64_t>() > static_cast<std::uint64_t>(nodes)) {
      return invalid(where, fmt::format("range {} of 'node_map' does not continue at {} within {} nodes",
                                        offsets.size() - 1, offsets.back(), nodes));
    }
    offsets.push_back(range[1].get<NodeId>());
  }
  if (offsets.back() != nodes) {
    return invalid(where, fmt::format("'node_map' ends at {} of {} nodes", offsets.back(), nodes));
  }
  return offsets;
}

Result<fs::path> inner_path(const Json& part, const char* key, const fs::path& base,
                            const std::string& where) {
  const auto found = part.find(key);
  if (found == part.end() || !found->is_string()) {
    return invalid(where, fmt::format("'{}' is missing or not a path", key));
  }
  const fs::path path = found->get<std::string>();
  const bool leaves =
      std::any_of(path.begin(), path.end(), [](const fs::path& step) { return step == ".."; });
  if (path.empty() || path.is_absolute() || leaves || path.native().find('\0') != std::string::npos) {
    return invalid(where,
                   fmt::format("'{}' is '{}', not a path inside its folder", key, shown(path.string())));
  }
  return base / path;
}

Result<DglMetadata::PartFiles> read_part(const Json& json, std::size_t p, const fs::path& base,
                                         const std::string& where) {
  const std::string key = fmt::format("part-{}", p);
  const auto part = json.find(key);
  if (part == json.end() || !part->is_object()) {
    return invalid(where, fmt::format("'{}' is missing", key));
  }
  const std::string part_where = fmt::format("{}: {}", where, key);
  if (part->contains("part_graph_graphbolt")) {
    return Error{Errc::kUnsupported,
                 part_where + ": a GraphBolt part (a torch file); partition with use_graphbolt=False"};
  }
  DglMetadata::PartFiles files;
  RUDDER_ASSIGN(files.graph, inner_path(*part, "part_graph", base, part_where));
  RUDDER_ASSIGN(files.node_features, inner_path(*part, "node_feats", base, part_where));
  return files;
}

}  // namespace

Result<DglMetadata> read_dgl_metadata(const fs::path& source) {
  RUDDER_ASSIGN(const fs::path path, find_json(source));
  const std::string where = path.string();
  RUDDER_ASSIGN(const std::string text, read_json_text(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return invalid(where, "not a JSON object");
  }
  DglMetadata metadata;
  RUDDER_ASSIGN(const std::int64_t parts, count_of(json, "num_parts", where));
  if (parts < 1 || parts > kMaxParts) {
    return invalid(where, fmt::format("{} parts", parts));
  }
  RUDDER_ASSIGN(metadata.node_type, one_type(json, "ntypes", "node", where));
  RUDDER_TRY(one_type(json, "etypes", "edge", where));
  RUDDER_ASSIGN(metadata.nodes, count_of(json, "num_nodes", where));
  RUDDER_ASSIGN(metadata.edges, count_of(json, "num_edges", where));
  RUDDER_ASSIGN(metadata.node_offsets, read_ranges(json, metadata.node_type, static_cast<std::size_t>(parts),
                                                   metadata.nodes, where));
  const auto name = json.find("graph_name");
  metadata.graph_name =
      name != json.end() && name->is_string() ? name->get<std::string>() : path.stem().string();
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) {
    RUDDER_ASSIGN(DglMetadata::PartFiles files, read_part(json, p, path.parent_path(), where));
    metadata.parts.push_back(std::move(files));
  }
  return metadata;
}

}  // namespace rudder::graph
