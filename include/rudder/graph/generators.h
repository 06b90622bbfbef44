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
  bool multi_label = false;    ///< planted: a node has several classes
  double train_share =
      0.1;  ///< random families: share of training nodes; validation and test half of the rest each
};

/// `name`: debian, wordnet, rmat, chung-lu, planted; an unknown name is an error with a near-miss hint.
[[nodiscard]] Result<GraphData> generate_graph(std::string_view name, const GeneratorOptions& options);

/// Packages of this system (`apt-cache dumpavail`). The text is passed in, so that tests need no apt.
/// Nodes: package names in byte order; of several stanzas with one name (architectures) the first counts.
/// Edges: Depends, Pre-Depends and Recommends, undirected; of alternatives "a | b" the first that exists; a
/// name that no package has stands for the first five packages that provide it; versions, architectures and
/// profiles are ignored. Labels: the section without its archive area; sections with fewer than one package
/// in 2,000 are one class "other"; without a section -1, in no split. Features: words of name and
/// description, hashed with signs, rows of length 1. Split 60/20/20 by a hash of seed and name; nothing else
/// depends on the seed. Debian 12 (amd64): 63,681 nodes, 292,389 undirected edges, 55 classes.
[[nodiscard]] Result<GraphData> debian_graph(std::string_view dumpavail, const GeneratorOptions& options);

/// Synsets of the files data.{noun,verb,adj,adv} in `directory` (Debian: /usr/share/wordnet, package
/// wordnet-base). Edges: pointers, undirected. Labels: the 45 lexicographer files. Features: words of lemmas
/// and gloss, hashed with signs, rows of length 1. Split 60/20/20 by a hash of seed, part of speech and
/// offset. WordNet 3.0: 117,659 nodes, 183,789 undirected edges.
[[nodiscard]] Result<GraphData> wordnet_graph(const std::string& directory, const GeneratorOptions& options);

}  // namespace rudder::graph
