// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/importers.h"

#include <array>
#include <utility>

#include "graph/import_common.h"

namespace rudder::graph {

std::optional<ImportFormat> import_format_from_name(std::string_view name) noexcept {
  constexpr std::array<std::pair<std::string_view, ImportFormat>, 5> kNames = {
      {{"planetoid", ImportFormat::kPlanetoid},
       {"snap", ImportFormat::kSnap},
       {"ogb", ImportFormat::kOgb},
       {"npz", ImportFormat::kNpz},
       {"dgl", ImportFormat::kDgl}}};
  for (const auto& [known, format] : kNames) {
    if (known == name) {
      return format;
    }
  }
  return std::nullopt;
}

Result<GraphData> import_graph(ImportFormat format, const std::filesystem::path& source,
                               const ImportOptions& options) {
  switch (format) {
    case ImportFormat::kPlanetoid:
      return import_planetoid(source, options);
    case ImportFormat::kSnap:
      return import_snap(source, options);
    case ImportFormat::kOgb:
      return import_ogb(source, options);
    case ImportFormat::kNpz:
      return import_npz(source, options);
    case ImportFormat::kDgl:
      return import_dgl(source, options);
  }
  return Error{Errc::kInvalidArgument, "unknown import format"};
}

}  // namespace rudder::graph
