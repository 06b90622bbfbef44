// SPDX-License-Identifier: Apache-2.0
// The learning rate of each step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::train {

struct LearningRate {
  double peak = 0.003;
  std::string schedule = "constant";  ///< constant, cosine (to 0, half a period), linear (to 0)
  std::uint64_t warmup_steps = 0;     ///< the rate grows linearly from peak / warmup_steps to peak
  std::uint64_t total_steps = 0;      ///< of the run; the decay ends with the last one
};

/// Names of schedules.
[[nodiscard]] const std::vector<std::string>& learning_rate_schedules();
/// Rate of step `step`, the first is 1. Positive at every step of the run.
[[nodiscard]] double rate_at(const LearningRate& rate, std::uint64_t step);

}  // namespace rudder::train
