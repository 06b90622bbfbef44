// SPDX-License-Identifier: Apache-2.0
// The conditions that the cost model needs, as a live run shows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rudder/steer/cost.h"
#include "rudder/steer/pilot.h"

namespace rudder::steer {

/// Measures window by window; what a window does not show is as it was in the one before. Not thread-safe.
class MeasuredWorld {
 public:
  /// `options` outlives it.
  explicit MeasuredWorld(const PilotOptions& options);

  /// A batch that fetched `rows`; `moved`: what moved since the batch before.
  void add(const TrainedBatch& batch, const Traffic& moved, std::uint64_t rows);
  /// Of the batches since the last call: those of a batch whose compute and gradients are still to be filled
  /// in. The link's rate is that at which rows came while any were on their way, less round trips; an
  /// owner's is that while it owed anything.
  [[nodiscard]] Conditions end_window();
  /// Whether any rows came in the window that ended last.
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  /// Bytes whose averaging would take as long as the fastest of the window took, if they moved at the link's
  /// rate alone: never more than are sent. Of the window that ended last.
  [[nodiscard]] double gradient_bytes() const noexcept { return gradient_bytes_; }

 private:
  const PilotOptions& options_;
  Conditions now_;
  double gradient_bytes_;
  bool moved_ = false;

  // Of the window at hand.
  std::uint64_t rows_ = 0, wire_bytes_ = 0;  ///< of its batches, whenever they came
  std::uint64_t moved_rows_ = 0;             ///< that came meanwhile
  std::uint64_t transfers_ = 0;              ///< batches while something came
  double moving_seconds_ = 0;
  double least_all_reduce_ = 0;  ///< 0: none yet
  double round_trip_ = 0;        ///< 0: none yet
  std::array<OwnerTotals, kMaxOwners> owner_{};
};

/// What moved between two moments.
[[nodiscard]] Traffic difference(const Traffic& now, const Traffic& before) noexcept;

}  // namespace rudder::steer
