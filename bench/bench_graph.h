// SPDX-License-Identifier: Apache-2.0
// The graph that benchmarks walk: a folder given by the environment, or R-MAT.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "rudder/graph/generators.h"
#include "rudder/graph/graph.h"

namespace rudder::bench {

/// Opened once: the folder RUDDER_BENCH_GRAPH (memory-mapped), else R-MAT of scale RUDDER_BENCH_SCALE
/// (default 20), edge factor 16, in memory.
class BenchGraph {
 public:
  [[nodiscard]] static const Result<BenchGraph>& shared() {
    static const Result<BenchGraph> graph = load();
    return graph;
  }
  [[nodiscard]] graph::CscView topology() const {
    return folder_ ? folder_->topology() : graph::CscView{data_.indptr, data_.indices};
  }

 private:
  static Result<BenchGraph> load() {
    BenchGraph result;
    if (const char* folder = std::getenv("RUDDER_BENCH_GRAPH")) {
      RUDDER_ASSIGN(result.folder_, graph::Graph::open(folder));
      return result;
    }
    graph::GeneratorOptions options;
    const char* scale = std::getenv("RUDDER_BENCH_SCALE");
    options.scale = scale == nullptr ? 20 : std::atoi(scale);
    options.edge_factor = 16;
    options.features = 1;
    RUDDER_ASSIGN(result.data_, graph::generate_graph("rmat", options));
    return result;
  }

  std::optional<graph::Graph> folder_;
  graph::GraphData data_;
};

}  // namespace rudder::bench
