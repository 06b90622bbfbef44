// SPDX-License-Identifier: Apache-2.0
// Graphs in memory, cut into parts, from which scenarios sample the batches of the trainer of part 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/generators.h"
#include "rudder/sim/scenario.h"

namespace rudder::sim {

class ScenarioWorld {
 public:
  /// Generates the graph, orders its nodes by label (in planted graphs: by community), the old order within
  /// one, and cuts the order into `parts` equal ranges.
  [[nodiscard]] static Result<ScenarioWorld> create(std::string_view generator,
                                                    const graph::GeneratorOptions& options,
                                                    std::size_t parts);

  [[nodiscard]] NodeId nodes() const noexcept { return owners_.back(); }
  /// Nodes of part 0 are [0, own()).
  [[nodiscard]] NodeId own() const noexcept { return owners_[1]; }
  [[nodiscard]] std::span<const EdgeIndex> indptr() const noexcept { return indptr_; }
  [[nodiscard]] std::int64_t label(NodeId node) const { return labels_[static_cast<std::size_t>(node)]; }

  /// The remote rows of the batch of these seeds (distinct), ascending; `number` keys its random stream.
  [[nodiscard]] std::vector<NodeId> remote_rows(std::span<const NodeId> seeds, const std::vector<int>& fanout,
                                                std::uint64_t seed, std::uint32_t number) const;
  /// Fills the scenario's parts that come from the graph.
  void describe(Scenario& scenario) const;

 private:
  std::string name_;
  std::vector<EdgeIndex> indptr_;
  std::vector<NodeId> indices_;
  std::vector<std::int64_t> labels_;
  std::vector<NodeId> owners_;
};

/// `count` distinct nodes of [begin, end), by the key; all of them when there are fewer.
[[nodiscard]] std::vector<NodeId> draw_seeds(NodeId begin, NodeId end, std::size_t count, std::uint64_t seed,
                                             std::uint64_t number);

}  // namespace rudder::sim
