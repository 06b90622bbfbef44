// SPDX-License-Identifier: Apache-2.0
// Collects windows from a running trainer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/metrics/step_times.h"
#include "rudder/steer/host_load.h"
#include "rudder/steer/window.h"
#include "rudder/steer/window_ring.h"

namespace rudder::steer {

/// One batch that was trained on. Spans are read during the call only.
struct ObservedBatch {
  StepId step = 0;
  bool training = true;  ///< false: evaluation
  // Trainer.
  metrics::StepTimes times;
  std::uint32_t ready = 0, waiting = 0;  ///< as in Window, when the batch was done
  // Planner: what its plan says (cache::Plan), and of the initial fill the counts with the first batch.
  cache::Counts counts;
  std::uint64_t slots = 0, resident = 0, known_ahead = 0;  ///< after the batch
  std::span<const NodeId> rows = {};                       ///< distinct remote rows
  std::span<const cache::RowSource> sources = {};          ///< parallel to rows
  std::span<const NodeId> fetch = {};
  std::span<const cache::Admission> admissions = {};
  /// Slots that the policy emptied. Left out, windows of policies that do so count too few stale rows.
  std::span<const SlotId> freed = {};
  // Fetcher and link.
  std::uint64_t wire_bytes = 0;
  double moving_seconds = 0;               ///< while some of them were on their way
  std::span<const OwnerLoad> owners = {};  ///< by owner, what each did for this batch
};

struct ObserverOptions {
  std::uint32_t batches = 8;  ///< in a window
  StepId steps_total = 0;     ///< of the run; 0: not known
  std::uint32_t owners = 0, self = kMaxOwners;
  std::size_t slots = 0;        ///< of the buffer, at most
  std::size_t rows = 1U << 16;  ///< distinct rows that two windows ask for, about; 51 to 102 bytes each
  std::uint32_t follow = 1;     ///< one row in so many, a power of 2, is followed for `stale` and `fresh`
  std::size_t windows = 16;     ///< that wait to be taken
  HostLoad* host = nullptr;     ///< asked at each window's end; outlives the observer; null: none
};

/// Sums batches into windows and hands them over. A window is of one setting and one phase: it ends after
/// `batches`, or before when either changes. All calls from the trainer's thread but those of ring(); nothing
/// allocates, waits or fails after create(). A batch costs O(rows / follow + admissions).
///
/// `stale` and `fresh` are those of the rows that are followed, times `follow`; exact for 1, as long as
/// forgotten() is 0.
class Observer {
 public:
  /// Errors name the option that is out of range.
  [[nodiscard]] static Result<std::unique_ptr<Observer>> create(const ObserverOptions& options);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Batches in order.
  void batch(const ObservedBatch& batch) noexcept;
  /// The action that the batches from now on run under; 0 until told.
  void holds(std::size_t action) noexcept;
  /// Ends the window now; nothing happens when it has no batch yet.
  void end_window() noexcept;

  /// Finished windows; its consuming side is another thread's.
  [[nodiscard]] WindowRing& ring() noexcept;
  /// Rows that made room for others before their time: `rows` is too small when they are many.
  [[nodiscard]] std::uint64_t forgotten() const noexcept;

 private:
  class Impl;
  explicit Observer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::steer
