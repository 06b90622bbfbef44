// SPDX-License-Identifier: Apache-2.0
// The graphs of rudder steer compare: made or read, cut, their accesses recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/partition.h"
#include "rudder/sim/steer_compare.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// What was not run, and why.
struct Skipped {
  std::string what, why;
};

struct ComparedGraph {
  std::string name;
  NodeId nodes = 0;
  EdgeIndex edges = 0;  ///< undirected
  NodeId halo = 0;      ///< over all parts
  std::size_t batch = 0;
  std::uint64_t steps_per_epoch = 0;
  sim::TracedGraph traced;
};

class CompareGraphs {
 public:
  void add_options(OptionTable& table);
  /// Works in `folder`. Graphs whose source this machine lacks, and cora without a folder, are skipped.
  /// `progress` hears the share done and of what.
  [[nodiscard]] Result<std::vector<ComparedGraph>> make(
      const std::filesystem::path& folder, std::vector<Skipped>& skipped,
      const std::function<void(double, std::string_view)>& progress) const;
  [[nodiscard]] PartId parts() const noexcept { return partition_.parts; }
  [[nodiscard]] std::uint64_t first_seed() const noexcept { return seed_; }

 private:
  [[nodiscard]] Status check() const;
  [[nodiscard]] Result<graph::GraphData> data_of(const std::string& name) const;
  [[nodiscard]] Result<ComparedGraph> trace(const std::string& name, const graph::GraphData& data,
                                            const std::filesystem::path& folder) const;

  std::string names_ = "debian,wordnet,cora,rmat,planted";
  std::filesystem::path cora_;
  int scale_ = 14;
  NodeId nodes_ = 16384;
  graph::PartitionOptions partition_;
  std::vector<int> fanout_ = {10, 25};
  std::size_t batch_ = 0;
  std::uint32_t epochs_ = 8;
  std::size_t seeds_ = 3;
  std::uint64_t seed_ = 1;
};

}  // namespace rudder::cli
