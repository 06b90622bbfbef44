// SPDX-License-Identifier: Apache-2.0
// Optimizer steps as groups of batches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rudder::train {

/// An epoch's batches in groups of `group`, one optimizer step each; the last group takes what is left. No
/// group spans two epochs. Steps and batches count through the whole run.
struct StepGroups {
  std::uint32_t batches = 1;  ///< an epoch
  std::uint32_t group = 1;    ///< batches a step

  [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept {
    return (std::uint64_t{batches} + group - 1) / group;
  }
  [[nodiscard]] std::uint32_t epoch(std::uint64_t step) const noexcept {
    return static_cast<std::uint32_t>(step / steps_per_epoch());
  }
  /// The step's first batch within its epoch.
  [[nodiscard]] std::uint32_t first_in_epoch(std::uint64_t step) const noexcept {
    return static_cast<std::uint32_t>(step % steps_per_epoch()) * group;
  }
  /// The step's first batch within the run.
  [[nodiscard]] std::uint64_t first_in_run(std::uint64_t step) const noexcept {
    return std::uint64_t{epoch(step)} * batches + first_in_epoch(step);
  }
  /// Batches of the step.
  [[nodiscard]] std::uint32_t size(std::uint64_t step) const noexcept {
    return std::min(group, batches - first_in_epoch(step));
  }
};

}  // namespace rudder::train
