// SPDX-License-Identifier: Apache-2.0
// Where a training step's time goes.
#pragma once

namespace rudder::metrics {

/// Seconds. The parts are cut at shared points in time, so they add up to the step exactly.
struct StepTimes {
  double compute = 0;     ///< forward, backward, optimizer
  double all_reduce = 0;  ///< waiting for and averaging gradients
  double stall = 0;       ///< waiting for the batch

  [[nodiscard]] double total() const noexcept { return compute + all_reduce + stall; }
  StepTimes& operator+=(const StepTimes& other) noexcept {
    compute += other.compute;
    all_reduce += other.all_reduce;
    stall += other.stall;
    return *this;
  }
};

}  // namespace rudder::metrics
