// SPDX-License-Identifier: Apache-2.0
// Moves the rows of plans: fetches, gathers batches, keeps the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/plane.h"

#include "dataplane/byte_pool.h"
#include "dataplane/plan_source.h"

namespace rudder::dataplane {

/// Pulls that are running, so that they can be stopped from outside. Thread-safe.
class RunningPulls {
 public:
  explicit RunningPulls(Plane& plane) : plane_(plane) {}

  [[nodiscard]] std::shared_ptr<Ticket> pull(std::span<const NodeId> ids, std::size_t row_bytes,
                                             std::byte* destination,
                                             const std::shared_ptr<AlignedBytes>& keep);
  [[nodiscard]] Result<Transfer> wait(const std::shared_ptr<Ticket>& ticket);
  /// Fails all waits, now and later, with kCancelled.
  void stop();

 private:
  Plane& plane_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Ticket>> running_;
  bool stopped_ = false;
};

/// start() and finish() may run on two threads; finish() is called for one plan after the other, in order, so
/// only it touches the buffer. stop() and recycle() are anybody's.
class BatchBuilder {
 public:
  /// An error when the buffer does not fit into memory.
  [[nodiscard]] static Result<std::unique_ptr<BatchBuilder>> create(const FeedInputs& inputs, SlotId slots);

  /// Asks for the plan's prompt rows. Does not block. Nothing to do for a fill.
  void start(Work& work);
  /// Waits for the plan's rows, and gathers its batch. Every earlier plan has been finished. The batch of
  /// step 0 includes what the fill moved.
  [[nodiscard]] Result<Batch> finish(Work& work);
  /// Fetches the rows of the initial fill into the buffer, piece by piece. Comes before every finish().
  [[nodiscard]] Status fill(const Work& work);
  /// Takes back a batch's rows.
  void recycle(AlignedBytes rows) { rows_.give(std::move(rows)); }
  /// Makes the waits of finish() and fill() return kCancelled. Thread-safe.
  void stop() { pulls_.stop(); }

 private:
  struct Piece {
    std::size_t first = 0;
    std::size_t rows = 0;
    std::shared_ptr<AlignedBytes> staging;
    std::shared_ptr<Ticket> ticket;
  };

  BatchBuilder(const FeedInputs& inputs, SlotId slots);
  [[nodiscard]] std::shared_ptr<AlignedBytes> take_staging(std::size_t bytes);
  void give_staging(std::shared_ptr<AlignedBytes> staging);
  [[nodiscard]] Status fetch(Work& work, Transfer& moved);
  void gather(const Work& work, std::byte* out);
  void admit(const Work& work);
  [[nodiscard]] std::byte* slot(SlotId slot) noexcept { return buffer_.data() + slot * row_bytes_; }

  const graph::Part& part_;
  const std::size_t row_bytes_;
  AlignedBytes buffer_;
  RunningPulls pulls_;
  BytePool rows_{16};
  std::mutex staging_mutex_;
  std::vector<std::shared_ptr<AlignedBytes>> staging_;
  std::vector<const std::byte*> sources_;  ///< scratch of gather()
  cache::Counts fill_counts_;
  Transfer fill_moved_;
};

}  // namespace rudder::dataplane
