// SPDX-License-Identifier: Apache-2.0
// Copies the rows of a batch from where they lie into one tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/sampler.h"

#include "dataplane/byte_pool.h"

namespace rudder::dataplane {

/// Rows of parts, of batches, and of the buffer.
struct RowTypes {
  std::size_t columns = 0;
  DType own = DType::kF32;
  DType placed = DType::kF32;  ///< narrower than own: widened to own, which is f32 then

  [[nodiscard]] std::size_t own_bytes() const noexcept { return columns * size_of(own); }
  [[nodiscard]] std::size_t placed_bytes() const noexcept { return columns * size_of(placed); }
};

/// gather() is one thread's, recycle() anybody's.
class BatchGatherer {
 public:
  /// `parts`: those of this host, one after another; parts[own] is the trainer's. They must outlive this.
  BatchGatherer(std::span<const graph::Part> parts, std::size_t own, const RowTypes& types);

  /// First node of the host's parts, and one past the last.
  [[nodiscard]] NodeId begin() const noexcept { return homes_.front().begin; }
  [[nodiscard]] NodeId end() const noexcept { return end_; }

  /// `positions[i]`: where row i of the offered ones, which lies at placed.places[i], stands in
  /// sampled.nodes.
  [[nodiscard]] Batch gather(sample::SampledBatch sampled, std::span<const LocalId> positions,
                             const PlacedRows& placed);
  /// Takes back a batch's rows.
  void recycle(AlignedBytes rows) { rows_.give(std::move(rows)); }

 private:
  /// A part's features, as a number because it is computed with before it is known to be in range.
  struct Home {
    NodeId begin = 0;
    std::uintptr_t rows = 0;
  };

  void find_owned(std::span<const NodeId> nodes);

  const RowTypes types_;
  const graph::Part& own_;
  std::vector<Home> homes_;
  NodeId end_ = 0;
  BytePool rows_;
  std::vector<const std::byte*> sources_;
  std::vector<std::uint8_t> narrow_;  ///< by source: whether to widen it; unused when nothing is
};

}  // namespace rudder::dataplane
