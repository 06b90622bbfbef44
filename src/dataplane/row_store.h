// SPDX-License-Identifier: Apache-2.0
// A host's remote rows: the buffer's slots, and staging memory of plans whose rows are on their way. It
// fetches and admits; who gathers reads its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"

#include "dataplane/row_memory.h"

namespace rudder::dataplane {

/// A plan on its way from the planner to a gathered batch.
struct Fetch {
  cache::Plan plan;
  /// Rows of plan.fetch. Shared with the plane, which may have to write after a failure.
  std::shared_ptr<RowBlock> staging;
  std::shared_ptr<Ticket> prompt;
};

/// Pulls that are running, so that they can be stopped from outside. Thread-safe.
class RunningPulls {
 public:
  explicit RunningPulls(Plane& plane) : plane_(plane) {}

  [[nodiscard]] std::shared_ptr<Ticket> pull(std::span<const NodeId> ids, std::size_t row_bytes,
                                             std::byte* destination, std::shared_ptr<const void> keep);
  [[nodiscard]] Result<Transfer> wait(const std::shared_ptr<Ticket>& ticket);
  /// Fails all waits, now and later, with kCancelled.
  void stop();

 private:
  Plane& plane_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Ticket>> running_;
  bool stopped_ = false;
};

/// start() is one thread's; fill(), wait() and admit() are called for one plan after the other, in order, by
/// one thread at a time. stop() is anybody's.
class RowStore {
 public:
  /// kResource when the buffer does not fit into memory. `plane` and `memory` must outlive the store.
  [[nodiscard]] static Result<std::unique_ptr<RowStore>> create(Plane& plane, std::size_t row_bytes,
                                                                SlotId slots, RowMemory& memory);

  /// Asks for the plan's prompt rows. Does not block. Nothing to do for a fill.
  [[nodiscard]] Status start(Fetch& fetch);
  /// Waits until all rows of the plan are in its staging memory. Every earlier plan has been admitted.
  [[nodiscard]] Result<Transfer> wait(Fetch& fetch);
  /// Copies what the plan keeps into its slots and takes the staging memory back. Nobody may be reading
  /// either.
  void admit(Fetch& fetch);
  /// Fetches the rows of the initial fill into the buffer, piece by piece. Comes before every wait().
  [[nodiscard]] Result<Transfer> fill(const cache::Plan& plan);
  /// Makes waits return kCancelled.
  void stop() { pulls_.stop(); }

  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] const std::shared_ptr<RowBlock>& slots() const noexcept { return slots_; }

 private:
  struct Piece {
    std::size_t first = 0;
    std::size_t rows = 0;
    std::shared_ptr<RowBlock> staging;
    std::shared_ptr<Ticket> ticket;
  };

  RowStore(Plane& plane, std::size_t row_bytes, RowMemory& memory, std::shared_ptr<RowBlock> slots);
  [[nodiscard]] Result<std::shared_ptr<RowBlock>> take_staging(std::size_t bytes);
  void give_staging(std::shared_ptr<RowBlock> staging);
  void put(SlotId slot, const std::byte* row) noexcept;

  const std::size_t row_bytes_;
  RowMemory& memory_;
  const std::shared_ptr<RowBlock> slots_;
  RunningPulls pulls_;
  std::mutex staging_mutex_;
  std::vector<std::shared_ptr<RowBlock>> staging_;  ///< not in use
};

}  // namespace rudder::dataplane
