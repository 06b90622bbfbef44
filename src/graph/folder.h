// SPDX-License-Identifier: Apache-2.0
// What the folders of whole and of partitioned graphs have in common.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rudder/core/ids.h"
#include "rudder/core/interrupt.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/npy.h"

namespace rudder::graph {

inline constexpr std::string_view kGraphFormat = "rudder-graph";
inline constexpr std::int64_t kGraphVersion = 1;
inline constexpr std::string_view kGraphJson = "graph.json";
/// "labels": "multi-label" in `graph.json`; without it labels are of one class a node.
inline constexpr const char* kLabelsKey = "labels";
inline constexpr std::string_view kMultiLabel = "multi-label";

/// What `graph.json` holds.
struct MetaFile {
  GraphMeta meta;
  bool original_ids = false;  ///< the folder has `original_ids.npy`
};

/// Reads a file in the format of `graph.json`.
[[nodiscard]] Result<MetaFile> read_meta(const std::filesystem::path& path);

/// A folder to fill. What was written into it is removed again unless keep() is called, so that a failure
/// or a signal leaves nothing half-made in the way of the next try.
class NewFolder {
 public:
  /// Creates the folder, or makes sure that it is empty.
  [[nodiscard]] static Result<NewFolder> create(const std::filesystem::path& directory);
  NewFolder(NewFolder&&) noexcept = default;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

  void keep() noexcept { directory_ = {}; }

 private:
  explicit NewFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}
  PendingPath directory_;
};

/// Opens a one-dimensional i64 array of exactly `length` elements, which the file `stated_in` says.
[[nodiscard]] Status open_vector(const std::filesystem::path& path, std::string_view stated_in,
                                 std::size_t length, NpyArray& array, std::span<const std::int64_t>& view);

/// Opens the feature rows of `rows` nodes of the graph that `meta` describes.
[[nodiscard]] Status open_features(const std::filesystem::path& path, std::string_view stated_in,
                                   const GraphMeta& meta, NodeId rows, NpyArray& array);

/// Opens the labels of `rows` nodes of the graph that `meta` describes: one a node, or a row of values a
/// node. The other view stays empty. Does not check the values.
[[nodiscard]] Status open_labels(const std::filesystem::path& path, std::string_view stated_in,
                                 const GraphMeta& meta, NodeId rows, NpyArray& array,
                                 std::span<const std::int64_t>& labels,
                                 std::span<const std::uint8_t>& label_rows);

/// Checks that all features of some nodes, `columns` a node from node `first` on, are finite numbers.
[[nodiscard]] Status check_finite(DType dtype, std::span<const std::byte> rows, std::size_t columns,
                                  NodeId first, const std::string& where);

/// Checks that every value is 0 or 1; `classes` a node.
[[nodiscard]] Status check_label_rows(std::span<const std::uint8_t> label_rows, std::size_t classes,
                                      const std::string& where);

/// Writes the labels of some nodes of the graph that `meta` describes.
[[nodiscard]] Status write_labels(const std::filesystem::path& path, const GraphMeta& meta,
                                  std::span<const std::int64_t> labels,
                                  std::span<const std::uint8_t> label_rows);

/// Checks that node ids ascend and lie in [begin, end). `name` is the array's in errors.
[[nodiscard]] Status check_split(std::span<const NodeId> split, NodeId begin, NodeId end,
                                 std::string_view name, const std::string& where);

}  // namespace rudder::graph
