// SPDX-License-Identifier: Apache-2.0
// The buffer of remote rows that the trainers of one host share: plans for all of them together, fetches each
// row once, keeps what the policy keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"

#include "dataplane/row_memory.h"

namespace rudder::dataplane {

/// Batch t of the host is the union of its trainers' batches t, and is planned, fetched and admitted as one;
/// a single trainer's buffer is the case of one. Slots change only between two batches, when every trainer
/// has released the earlier and before any can take the later, so a trainer never reads a slot that changes.
/// A trainer that has left takes no part in later batches, and holds up none.
///
/// Owns a planning thread. Whoever waits in take() also waits for the network on behalf of all. Waits for
/// trainers have no limit of their own: a step may take as long as it likes.
class HostBuffer {
 public:
  /// Trainer i (0 to size of `parts` - 1) trains part parts[i]; the parts follow one another, and all rows
  /// that are not theirs are remote. `graph` and `plane`, which owns those rows and no others, must outlive
  /// the buffer and its supplies.
  [[nodiscard]] static Result<std::unique_ptr<HostBuffer>> create(const graph::PartitionedGraph& graph,
                                                                  std::span<const PartId> parts, Plane& plane,
                                                                  const RunShape& run,
                                                                  const BufferOptions& options,
                                                                  std::unique_ptr<RowMemory> memory);
  /// Supplies go on without it.
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  /// The end of trainer i, for one caller each. Its destruction is the trainer's leaving.
  [[nodiscard]] std::unique_ptr<RowSupply> supply(std::size_t i);
  /// Ends all waits with `error`, now and later.
  void fail(const Error& error);
  /// Why rows can't be had any more; nothing while they can, or when only the trainers have left.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  class Impl;
  class Supply;
  explicit HostBuffer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace rudder::dataplane
