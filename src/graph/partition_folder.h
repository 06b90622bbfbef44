// SPDX-License-Identifier: Apache-2.0
// The partition folder: names, `partition.json` and digests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/core/sha256.h"
#include "rudder/graph/partition.h"

namespace rudder::graph {

inline constexpr std::string_view kPartitionJson = "partition.json";
inline constexpr std::string_view kSourceGraphJson = "source_graph.json";

[[nodiscard]] std::filesystem::path part_directory(const std::filesystem::path& folder, PartId p);

/// What `partition.json` holds. No times and no paths: equal cuts have equal files. Version 1 had no
/// `part_digests`, version 2 no `row_digests`.
struct PartitionFile {
  std::string method;
  std::uint64_t seed = 0;
  double imbalance = 0;
  std::vector<NodeId> offsets;
  std::string graph_digest;      ///< of the source graph, see hash_shapes
  std::string structure_digest;  ///< of this folder's original_ids, indptr and indices, in this order
  std::string source_digest;     ///< of source_graph.json
  std::vector<std::string> part_digests;  ///< of each part's indptr and indices; empty in version 1
  std::vector<std::string> row_digests;   ///< of each part's rows, see rows_digest; empty before version 3
  PartitionReport report;                 ///< all but `seconds`
};

/// Of the version that had these digests.
[[nodiscard]] std::string partition_json_text(const PartitionFile& file);
/// `where` names the file in errors.
[[nodiscard]] Result<PartitionFile> parse_partition_json(const std::string& text, const std::string& where);

/// Begins a graph digest: the counts, before the elements of indptr and indices.
void hash_shapes(const GraphMeta& meta, Sha256& hash);
[[nodiscard]] std::string text_digest(std::string_view text);

/// SHA-256 (hex) over features and labels of up to 1,024 rows, evenly spaced: tells files of graphs apart
/// that have one structure, without reading all of them. `features` and `labels` give a row's bytes.
using RowBytes = std::function<std::span<const std::byte>(std::size_t row)>;
[[nodiscard]] std::string rows_digest(std::size_t rows, const RowBytes& features, const RowBytes& labels);

}  // namespace rudder::graph
