// SPDX-License-Identifier: Apache-2.0
// Readers of other tools' graph files. Each reads hostile input with bounds and states what it dropped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

enum class ImportFormat : std::uint8_t { kPlanetoid, kSnap, kOgb, kNpz, kDgl };

/// "planetoid", "snap", "ogb", "npz", "dgl".
[[nodiscard]] std::optional<ImportFormat> import_format_from_name(std::string_view name) noexcept;

struct ImportOptions {
  std::size_t features = 64;     ///< SNAP has none: width of the seeded features it gets
  std::uint64_t seed = 1;        ///< of generated features, labels and splits
  std::int64_t classes = 16;     ///< SNAP has no labels: number of seeded classes
  std::size_t memory_limit = 0;  ///< bytes one file may unpack to; 0: half of the memory available now
};

/// Reads SRC into memory. Planetoid: a folder with `ind.NAME.*` or the common prefix `…/ind.NAME`. SNAP: an
/// edge list, plain or gzip (ids relabelled densely in increasing order). OGB: the `ogbn_*` folder (CSV.gz or
/// npz; heterogeneous ones are refused clearly). npz: a GNN-benchmark file. DGL: the partition's `.json` or
/// its folder (homogeneous).
[[nodiscard]] Result<GraphData> import_graph(ImportFormat format, const std::filesystem::path& source,
                                             const ImportOptions& options);

}  // namespace rudder::graph
