// SPDX-License-Identifier: Apache-2.0
#include "graph/partition_folder.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/partition_methods.h"

namespace rudder::graph {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "rudder-partition";
constexpr std::uint64_t kVersion = 3;
constexpr std::uint64_t kOldestVersion = 1;
constexpr NodeId kMaxNode = NodeId{1} << 56;

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

/// Reads members of one object; the first problem stays in status().
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  const Json& at(const char* key) {
    static const Json kNull;
    const auto found = json_.find(key);
    if (found == json_.end()) {
      fail(fmt::format("'{}' is missing", key));
      return kNull;
    }
    return *found;
  }
  std::uint64_t unsigned_number(const char* key) {
    const Json& value = at(key);
    if (status_.ok() && !value.is_number_unsigned()) {
      fail(fmt::format("'{}' is {}, not a count", key, shown(value)));
    }
    return status_.ok() ? value.get<std::uint64_t>() : 0;
  }
  double number(const char* key) {
    const Json& value = at(key);
    if (status_.ok() && (!value.is_number() || !std::isfinite(value.get<double>()))) {
      fail(fmt::format("'{}' is {}, not a number", key, shown(value)));
    }
    return status_.ok() ? value.get<double>() : 0;
  }
  std::string text(const char* key) {
    const Json& value = at(key);
    if (status_.ok() && !value.is_string()) {
      fail(fmt::format("'{}' is {}, not a text", key, shown(value)));
    }
    return status_.ok() ? value.get<std::string>() : std::string();
  }
  std::string digest(const char* key) {
    std::string value = text(key);
    if (status_.ok() && !is_digest(value)) {
      fail(fmt::format("'{}' is '{}', not a SHA-256", key, value.substr(0, 80)));
    }
    return value;
  }
  std::vector<std::string> digests(const char* key) {
    const Json& value = at(key);
    std::vector<std::string> out;
    if (status_.ok() && !value.is_array()) {
      fail(fmt::format("'{}' is {}, not a list", key, shown(value)));
    }
    for (std::size_t i = 0; status_.ok() && i < value.size(); ++i) {
      if (!value[i].is_string() || !is_digest(value[i].get_ref<const std::string&>())) {
        fail(fmt::format("'{}'[{}] is {}, not a SHA-256", key, i, shown(value[i])));
      } else {
        out.push_back(value[i].get<std::string>());
      }
    }
    return out;
  }
  std::vector<NodeId> nodes(const char* key) {
    const Json& value = at(key);
    std::vector<NodeId> out;
    if (status_.ok() && !value.is_array()) {
      fail(fmt::format("'{}' is {}, not a list", key, shown(value)));
    }
    for (std::size_t i = 0; status_.ok() && i < value.size(); ++i) {
      if (!value[i].is_number_unsigned() ||
          value[i].get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxNode)) {
        fail(fmt::format("'{}'[{}] is {}, not a count of nodes", key, i, shown(value[i])));
      } else {
        out.push_back(value[i].get<NodeId>());
      }
    }
    return out;
  }
  void fail(const std::string& what) {
    if (status_.ok()) {
      status_ = Error{Errc::kInvalidData, fmt::format("{}: {}", where_, what)};
    }
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  static bool is_digest(const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  }

  const Json& json_;
  std::string where_;
  Status status_;
};

Status read_report(const Json& json, PartitionFile& file, const std::string& where) {
  if (!json.is_object()) {
    return Error{Errc::kInvalidData, fmt::format("{}: 'report' is not an object", where)};
  }
  Reader reader(json, where + ": report");
  PartitionReport& report = file.report;
  report.method = file.method;
  report.parts = static_cast<PartId>(file.offsets.size() - 1);
  report.edge_cut = static_cast<EdgeIndex>(reader.unsigned_number("edge_cut"));
  report.balance_nodes = reader.number("balance_nodes");
  report.balance_edges = reader.number("balance_edges");
  report.balance_train = reader.number("balance_train");
  report.halo = reader.nodes("halo");
  if (reader.status().ok() && report.halo.size() != report.parts) {
    reader.fail(fmt::format("'halo' has {} entries for {} parts", report.halo.size(), report.parts));
  }
  return reader.status();
}

}  // namespace

std::filesystem::path part_directory(const std::filesystem::path& folder, PartId p) {
  return folder / fmt::format("part{}", p);
}

std::string partition_json_text(const PartitionFile& file) {
  Json report = Json::object();
  report["edge_cut"] = file.report.edge_cut;
  report["balance_nodes"] = file.report.balance_nodes;
  report["balance_edges"] = file.report.balance_edges;
  report["balance_train"] = file.report.balance_train;
  report["halo"] = file.report.halo;
  Json json = Json::object();
  json["format"] = kFormat;
  json["version"] = file.part_digests.empty() ? 1 : file.row_digests.empty() ? 2 : kVersion;
  json["tool"] = "rudder partition";
  json["parts"] = file.offsets.size() - 1;
  json["method"] = file.method;
  json["seed"] = file.seed;
  json["imbalance"] = file.imbalance;
  json["offsets"] = file.offsets;
  json["graph_digest"] = file.graph_digest;
  json["structure_digest"] = file.structure_digest;
  json["source_digest"] = file.source_digest;
  if (!file.part_digests.empty()) {
    json["part_digests"] = file.part_digests;
  }
  if (!file.row_digests.empty()) {
    json["row_digests"] = file.row_digests;
  }
  json["report"] = std::move(report);
  return json.dump(2) + "\n";
}

Result<PartitionFile> parse_partition_json(const std::string& text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Error{Errc::kInvalidData, fmt::format("{}: not a JSON object", where)};
  }
  Reader reader(json, where);
  const std::string format = reader.text("format");
  if (reader.status().ok() && format != kFormat) {
    reader.fail(fmt::format("format '{}', not '{}'", format.substr(0, 60), kFormat));
  }
  const std::uint64_t version = reader.unsigned_number("version");
  RUDDER_TRY(reader.status());
  if (version < kOldestVersion || version > kVersion) {
    return Error{Errc::kUnsupported, fmt::format("{}: version {}; this program reads {} to {}", where,
                                                 version, kOldestVersion, kVersion)};
  }
  PartitionFile file;
  const std::uint64_t parts = reader.unsigned_number("parts");
  file.method = reader.text("method");
  file.seed = reader.unsigned_number("seed");
  file.imbalance = reader.number("imbalance");
  file.offsets = reader.nodes("offsets");
  file.graph_digest = reader.digest("graph_digest");
  file.structure_digest = reader.digest("structure_digest");
  file.source_digest = reader.digest("source_digest");
  if (version > 1) {
    file.part_digests = reader.digests("part_digests");
  }
  if (version > 2) {
    file.row_digests = reader.digests("row_digests");
  }
  if (reader.status().ok() && (parts == 0 || parts > kMaxParts)) {
    reader.fail(fmt::format("'parts' is {}, outside [1, {}]", parts, kMaxParts));
  }
  if (reader.status().ok() && file.offsets.size() != parts + 1) {
    reader.fail(fmt::format("'offsets' has {} entries for {} parts", file.offsets.size(), parts));
  }
  const auto check_one_a_part = [&](std::uint64_t since, const char* key, std::size_t entries) {
    if (reader.status().ok() && version >= since && entries != parts) {
      reader.fail(fmt::format("'{}' has {} entries for {} parts", key, entries, parts));
    }
  };
  check_one_a_part(2, "part_digests", file.part_digests.size());
  check_one_a_part(3, "row_digests", file.row_digests.size());
  if (reader.status().ok() && !partition_method_from_name(file.method)) {
    reader.fail(fmt::format("'method' is '{}', which is unknown", file.method.substr(0, 60)));
  }
  const Json& report = reader.at("report");
  RUDDER_TRY(reader.status());
  RUDDER_TRY(read_report(report, file, where));
  return file;
}

void hash_shapes(const GraphMeta& meta, Sha256& hash) {
  const std::string shapes = fmt::format("nodes {} edges {} features {} {} classes {}\n", meta.nodes,
                                         meta.edges, meta.features, name_of(meta.dtype), meta.classes);
  hash.update(std::as_bytes(std::span(shapes)));
}

std::string text_digest(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

std::string rows_digest(std::size_t rows, const RowBytes& features, const RowBytes& labels) {
  constexpr std::size_t kSampled = 1024;
  Sha256 hash;
  const std::size_t sampled = std::min(rows, kSampled);
  for (std::size_t i = 0; i < sampled; ++i) {
    const std::size_t row = i * (rows / sampled);
    hash.update(features(row));
    hash.update(labels(row));
  }
  return hash.hex();
}

}  // namespace rudder::graph
