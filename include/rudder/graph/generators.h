// SPDX-License-Identifier: Apache-2.0
// Seeded generators: two real graphs from this Debian system, three random families.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::size_t features = 256;  ///< columns
  int scale = 16;              ///< rmat: 2^scale nodes
  double edge_factor = 16;     ///< rmat, chung-lu, planted: undirected edges drawn a node, before dropping
  NodeId nodes = 65536;        ///< chung-lu, planted
  std::int64_t classes = 16;   ///< rmat, chung-lu (seeded labels), planted (communities)
  double exponent = 2.3;       ///< chung-lu: of the degree distribution
  double mixing = 0.2;         ///< planted: share of edges that leave the community
  double train_share =
      0.1;  ///< random families: share of training nodes; validation and test half of the rest each
};

/// `name`: debian, wordnet, rmat, chung-lu, planted; an unknown name is an error with a near-miss hint.
[[nodiscard]] Result<GraphData> generate_graph(std::string_view name, const GeneratorOptions& options);

/// Packages of this system (`apt-cache dumpavail`). The text is passed in, so that tests need no apt.
[[nodiscard]] Result<GraphData> debian_graph(std::string_view dumpavail, const GeneratorOptions& options);

/// Synsets of the files data.{noun,verb,adj,adv} in `directory` (Debian: /usr/share/wordnet).
[[nodiscard]] Result<GraphData> wordnet_graph(const std::string& directory, const GeneratorOptions& options);

}  // namespace rudder::graph
