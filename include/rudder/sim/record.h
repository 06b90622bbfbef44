// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/graph/partition.h"

namespace rudder::sim {

struct RecordOptions {
  std::uint64_t seed = 1;
  std::size_t batch = 512;  ///< seeds a step of each rank
  std::uint32_t epochs = 1;
  std::vector<int> fanout = {25, 10};
  std::size_t threads = 1;
};

struct RecordReport {
  std::uint64_t steps = 0;     ///< of each rank
  std::uint64_t requests = 0;  ///< remote rows over all ranks and steps
  std::uint64_t file_bytes = 0;
  double seconds = 0;
};

/// Samples every batch that training with these options would, on all ranks, and writes the remote rows it
/// would ask for. Batches are pure functions of the options, so the trace equals that of a training run.
/// `progress` (may be empty) hears the share done.
[[nodiscard]] Result<RecordReport> record_trace(const graph::PartitionedGraph& graph,
                                                const RecordOptions& options,
                                                const std::filesystem::path& out,
                                                const std::function<void(double)>& progress);

/// Writes the rows that a training run with these options asked for (by rank and step) as the same trace.
[[nodiscard]] Status write_trace(const graph::PartitionedGraph& graph, const RecordOptions& options,
                                 const std::vector<std::vector<std::vector<NodeId>>>& accesses,
                                 const std::filesystem::path& out);

}  // namespace rudder::sim
