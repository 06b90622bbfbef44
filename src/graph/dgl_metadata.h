// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::graph {

/// The JSON file of a DGL partition folder of a homogeneous graph with range maps.
struct DglMetadata {
  struct PartFiles {
    std::filesystem::path graph;          ///< graph.dgl
    std::filesystem::path node_features;  ///< node_feat.dgl
  };
  std::string graph_name;
  std::string node_type;  ///< usually _N
  NodeId nodes = 0;
  EdgeIndex edges = 0;
  std::vector<NodeId> node_offsets;  ///< part p owns [p, p + 1); one more than parts
  std::vector<PartFiles> parts;
};

/// `source` is the JSON file or a folder with one. Paths in it are relative to its folder and may not leave
/// it. Heterogeneous graphs (the error names their types), GraphBolt parts and non-range maps are
/// kUnsupported.
[[nodiscard]] Result<DglMetadata> read_dgl_metadata(const std::filesystem::path& source);

}  // namespace rudder::graph
