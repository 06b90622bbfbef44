// SPDX-License-Identifier: Apache-2.0
// Access traces: which remote rows each batch of each rank asked for, with what the policies need to be
// replayed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// Everything about a trace but its batches.
struct TraceHeader {
  std::string partition_digest;
  std::uint64_t seed = 0;
  NodeId nodes = 0;
  std::uint32_t row_bytes = 0;
  std::uint32_t epochs = 0;
  std::uint32_t steps_per_epoch = 0;
  std::uint32_t batch = 0;
  std::vector<int> fanout;
  std::vector<NodeId> part_offsets;       ///< the partition book; ranks = parts
  std::vector<EdgeIndex> indptr;          ///< of the relabelled graph
  std::vector<std::vector<NodeId>> halo;  ///< per rank
  std::vector<std::vector<float>> vip;    ///< per rank, by node

  [[nodiscard]] Rank ranks() const noexcept { return static_cast<Rank>(part_offsets.size()) - 1; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return std::uint64_t{epochs} * steps_per_epoch; }
};

/// Writes a trace, rank by rank, batches in order. Compact: ids as varint deltas, sections deflated, SHA-256
/// at the end.
class TraceWriter {
 public:
  [[nodiscard]] static Result<TraceWriter> create(const std::filesystem::path& path,
                                                  const TraceHeader& header);
  TraceWriter(TraceWriter&&) noexcept;
  ~TraceWriter();
  /// Steps of one rank must come in order; ranks may interleave. Rows ascending, distinct.
  [[nodiscard]] Status append(Rank rank, StepId step, std::span<const NodeId> rows);
  /// An error when some rank has fewer than header.steps() batches.
  [[nodiscard]] Status commit();

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A whole trace in memory: batches of each rank in one array.
struct Trace {
  TraceHeader header;
  struct RankBatches {
    std::vector<NodeId> rows;            ///< of all batches, one after another
    std::vector<std::uint64_t> offsets;  ///< steps + 1
    [[nodiscard]] std::span<const NodeId> batch(StepId step) const noexcept {
      return std::span(rows).subspan(offsets[step], offsets[step + 1] - offsets[step]);
    }
  };
  std::vector<RankBatches> ranks;
};

/// Reads and checks a trace file: bounds, order, checksum; hostile input gives one error. `memory_limit` in
/// bytes, 0 = half of what is available.
[[nodiscard]] Result<Trace> read_trace(const std::filesystem::path& path, std::size_t memory_limit = 0);

}  // namespace rudder::cache
