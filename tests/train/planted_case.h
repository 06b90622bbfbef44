// SPDX-License-Identifier: Apache-2.0
// A small graph with planted communities, cut into parts in a temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"

namespace rudder::train::testing_support {

class PlantedCase {
 public:
  explicit PlantedCase(graph::GeneratorOptions options = small()) : directory_(make_directory()) {
    auto data = graph::generate_graph("planted", options);
    require(data);
    write(*data);
  }
  explicit PlantedCase(const graph::GraphData& data) : directory_(make_directory()) { write(data); }

  static graph::GeneratorOptions small() {
    return {.seed = 3,
            .features = 24,
            .edge_factor = 6,
            .nodes = 1600,
            .classes = 4,
            .mixing = 0.2,
            .train_share = 0.2};
  }

  /// The partition folder with `parts` parts, made on first use.
  std::filesystem::path partition(PartId parts) {
    const std::filesystem::path out = directory_.path() / ("parts" + std::to_string(parts));
    if (!std::filesystem::exists(out)) {
      auto graph = graph::Graph::open(folder());
      require(graph);
      require(graph::partition_graph(*graph, {.parts = parts}, out, {}));
    }
    return out;
  }
  [[nodiscard]] std::filesystem::path folder() const { return directory_.path() / "graph"; }
  [[nodiscard]] const std::filesystem::path& scratch() const { return directory_.path(); }

 private:
  template <class T>
  static void require(const Result<T>& result) {
    if (!result.ok()) {
      throw std::runtime_error(result.error().message);
    }
  }
  static TemporaryDirectory make_directory() {
    auto directory = TemporaryDirectory::create("rudder-train-test");
    require(directory);
    return std::move(directory).value();
  }
  void write(const graph::GraphData& data) { require(graph::write_graph(folder(), data)); }

  TemporaryDirectory directory_;
};

/// One for all tests of a program.
inline PlantedCase& planted() {
  static PlantedCase shared;
  return shared;
}

}  // namespace rudder::train::testing_support
