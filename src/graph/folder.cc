// SPDX-License-Identifier: Apache-2.0
#include "graph/folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"

#include "graph/invalid.h"
#include "graph/json_text.h"

namespace rudder::graph {
namespace {

using Json = nlohmann::ordered_json;

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
  /// Whether the text is there; any other than `value` is a problem.
  bool marked(const char* key, std::string_view value) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      return false;
    }
    if (!found->is_string() || found->get<std::string>() != value) {
      fail(fmt::format("'{}' is {}; only \"{}\" is known", key, shown(*found), value));
    }
    return true;
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

}  // namespace

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
  if (format != kGraphFormat) {
    return invalid(where, fmt::format("format '{}', not '{}'", format.substr(0, 60), kGraphFormat));
  }
  const std::int64_t version = members.count("version");
  RUDDER_TRY(members.status());
  if (version != kGraphVersion) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: version {}; this program reads {}", where, version, kGraphVersion)};
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
  meta.multi_label = members.marked(kLabelsKey, kMultiLabel);
  const std::string dtype = members.text("dtype");
  RUDDER_TRY(members.status());
  const std::optional<DType> type = dtype_from_name(dtype);
  if (!type || !is_feature_type(*type)) {
    return invalid(where, fmt::format("dtype '{}'; f32, f16 and bf16 are known", dtype.substr(0, 60)));
  }
  meta.dtype = *type;
  if (constexpr std::int64_t kMost = std::int64_t{1} << 24; meta.classes > kMost) {
    return invalid(where, fmt::format("{} classes; at most {} can be told apart", meta.classes, kMost));
  }
  RUDDER_TRY(read_origin(json, meta.origin, where));
  return file;
}

Result<NewFolder> NewFolder::create(const std::filesystem::path& directory) {
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
  return NewFolder(directory);
}

NewFolder::~NewFolder() {
  if (!directory_.path().empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_.path(), ignored);
  }
}

Status open_vector(const std::filesystem::path& path, std::string_view stated_in, std::size_t length,
                   NpyArray& array, std::span<const std::int64_t>& view) {
  RUDDER_ASSIGN(array, NpyArray::open(path));
  RUDDER_ASSIGN(view, array.vector_of<std::int64_t>());
  if (view.size() != length) {
    return invalid(path.string(), fmt::format("{} elements; {} says {}", view.size(), stated_in, length));
  }
  return {};
}

Status open_features(const std::filesystem::path& path, std::string_view stated_in, const GraphMeta& meta,
                     NodeId rows, NpyArray& array) {
  RUDDER_ASSIGN(array, NpyArray::open(path));
  // NumPy has no bf16: its bits are stored as u16.
  const DType stored = meta.dtype == DType::kBF16 ? DType::kU16 : meta.dtype;
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(rows), meta.features};
  if (array.dtype() != stored || array.shape() != shape) {
    return invalid(path.string(), fmt::format("{} of shape ({}); {} says {} of shape ({})",
                                              name_of(array.dtype()), fmt::join(array.shape(), ", "),
                                              stated_in, name_of(stored), fmt::join(shape, ", ")));
  }
  return {};
}

Status open_labels(const std::filesystem::path& path, std::string_view stated_in, const GraphMeta& meta,
                   NodeId rows, NpyArray& array, std::span<const std::int64_t>& labels,
                   std::span<const std::uint8_t>& label_rows) {
  if (!meta.multi_label) {
    return open_vector(path, stated_in, static_cast<std::size_t>(rows), array, labels);
  }
  RUDDER_ASSIGN(array, NpyArray::open(path));
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(rows),
                                          static_cast<std::size_t>(meta.classes)};
  if (array.dtype() != DType::kU8 || array.shape() != shape) {
    return invalid(path.string(),
                   fmt::format("{} of shape ({}); {} says multi-label, which is u8 of shape ({})",
                               name_of(array.dtype()), fmt::join(array.shape(), ", "), stated_in,
                               fmt::join(shape, ", ")));
  }
  label_rows = {reinterpret_cast<const std::uint8_t*>(array.bytes().data()), array.bytes().size()};
  return {};
}

Status check_finite(DType dtype, std::span<const std::byte> rows, std::size_t columns, NodeId first,
                    const std::string& where) {
  constexpr std::size_t kChunk = 4096;
  std::array<float, kChunk> values;
  const std::size_t count = rows.size() / size_of(dtype);
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const std::span<float> chunk(values.data(), std::min(kChunk, count - begin));
    widen_to_f32(dtype, rows.data() + begin * size_of(dtype), chunk.size(), chunk.data());
    const auto found = std::ranges::find_if_not(chunk, [](float value) { return std::isfinite(value); });
    if (found != chunk.end()) {
      const std::size_t at = begin + static_cast<std::size_t>(found - chunk.begin());
      return invalid(where, fmt::format("feature {} of node {} is {}, not a finite number", at % columns,
                                        first + static_cast<NodeId>(at / columns), *found));
    }
  }
  return {};
}

Status check_label_rows(std::span<const std::uint8_t> label_rows, std::size_t classes,
                        const std::string& where) {
  const auto wrong = std::ranges::find_if(label_rows, [](std::uint8_t value) { return value > 1; });
  if (wrong == label_rows.end()) {
    return {};
  }
  const auto at = static_cast<std::size_t>(wrong - label_rows.begin());
  return invalid(where, fmt::format("the label of row {} for class {} is {}, neither 0 nor 1", at / classes,
                                    at % classes, *wrong));
}

Status write_labels(const std::filesystem::path& path, const GraphMeta& meta,
                    std::span<const std::int64_t> labels, std::span<const std::uint8_t> label_rows) {
  if (!meta.multi_label) {
    return write_npy(path, labels);
  }
  const auto columns = static_cast<std::size_t>(meta.classes);
  const std::size_t shape[] = {label_rows.size() / columns, columns};
  return write_npy(path, DType::kU8, shape, std::as_bytes(label_rows));
}

Status check_split(std::span<const NodeId> split, NodeId begin, NodeId end, std::string_view name,
                   const std::string& where) {
  NodeId previous = begin - 1;
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (split[i] < begin || split[i] >= end) {
      return invalid(where, fmt::format("{}[{}] is {}, outside [{}, {})", name, i, split[i], begin, end));
    }
    if (split[i] <= previous) {
      return invalid(where,
                     fmt::format("{}[{}] is {} after {}; ids must ascend", name, i, split[i], previous));
    }
    previous = split[i];
  }
  return {};
}

}  // namespace rudder::graph
