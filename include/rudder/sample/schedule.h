// SPDX-License-Identifier: Apache-2.0
// Which seed nodes each rank takes in each batch: a pure function of the seed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::sample {

/// One batch of one rank, as position in the run.
struct BatchKey {
  std::uint32_t epoch = 0;
  std::uint32_t batch = 0;  ///< within the epoch
  Rank rank = 0;
};

/// Every epoch each rank permutes its own training nodes (keyed by seed, epoch, rank) and cuts them into
/// `steps_per_epoch` runs whose lengths differ by at most one. All ranks have the same number of steps:
/// the largest ceil(|train_r| / batch), so that no rank waits for another at the end. A rank with fewer
/// training nodes than steps has batches without seeds. Immutable, thread-safe.
class Schedule {
 public:
  /// `train[r]` must outlive the schedule. An error when batch is 0, there is no rank, no rank has training
  /// nodes, or some rank lists a node twice.
  [[nodiscard]] static Result<Schedule> create(std::uint64_t seed, std::size_t batch,
                                               std::vector<std::span<const NodeId>> train);

  [[nodiscard]] std::uint32_t steps_per_epoch() const noexcept { return steps_; }
  [[nodiscard]] Rank world() const noexcept { return static_cast<Rank>(train_.size()); }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Seeds of one batch. O(|train_r|) unless the epoch's permutation is cached by the caller (see
  /// epoch_order).
  [[nodiscard]] std::vector<NodeId> seeds(BatchKey key) const;
  /// The permuted training nodes of a rank in an epoch.
  [[nodiscard]] std::vector<NodeId> epoch_order(std::uint32_t epoch, Rank rank) const;
  /// Half-open range of `epoch_order` that makes batch `batch` of `rank`.
  [[nodiscard]] std::pair<std::size_t, std::size_t> range(std::uint32_t batch, Rank rank) const noexcept;
  /// Seeds of this batch over all ranks: the divisor of the global mean loss.
  [[nodiscard]] std::size_t total_seeds(std::uint32_t batch) const noexcept;
  /// batch over all ranks and epochs, unique: the sampler's key.
  [[nodiscard]] std::uint64_t global_batch(BatchKey key) const noexcept {
    return (std::uint64_t{key.epoch} * steps_ + key.batch) * world() + key.rank;
  }

 private:
  std::uint64_t seed_ = 0;
  std::uint32_t steps_ = 0;
  std::vector<std::span<const NodeId>> train_;
};

}  // namespace rudder::sample
