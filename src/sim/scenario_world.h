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

/// A graph of 16,384 nodes whose degrees follow a power law; the smaller the exponent, the more of the
/// accesses go to few rows.
[[nodiscard]] graph::GeneratorOptions skewed_graph(std::uint64_t seed, double exponent);
/// Conditions that the scenarios start from: 10 ms of compute a step, 128 float features a row.
[[nodiscard]] steer::Conditions usual_conditions(double link_bytes_per_second);
/// Puts one step at the scenario's end.
void add_step(Scenario& scenario, std::vector<NodeId> rows, const steer::Conditions& conditions,
              bool training = true);
/// Begins a phase at the next step, which is a window's first.
void add_phase(Scenario& scenario, std::string name);

/// A scenario about splitting memory between kept rows and rows that wait: batches come in bursts, which
/// waiting rows carry over, and kept rows save traffic. `change` makes the conditions of odd phases out of
/// the usual ones.
struct Bursts {
  std::string_view name;
  std::uint32_t even_steps = 320, odd_steps = 320;
  void (*change)(steer::Conditions&) = nullptr;
  std::string_view even_phase, odd_phase;
};
[[nodiscard]] Result<Scenario> make_bursts(const Bursts& bursts, std::uint64_t seed);

/// `count` distinct nodes of [begin, end), by the key; all of them when there are fewer.
[[nodiscard]] std::vector<NodeId> draw_seeds(NodeId begin, NodeId end, std::size_t count, std::uint64_t seed,
                                             std::uint64_t number);

}  // namespace rudder::sim
