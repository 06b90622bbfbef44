// SPDX-License-Identifier: Apache-2.0
#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rudder::train {

const std::vector<std::string>& learning_rate_schedules() {
  static const std::vector<std::string> names = {"constant", "cosine", "linear"};
  return names;
}

double rate_at(const LearningRate& rate, std::uint64_t step) {
  if (step <= rate.warmup_steps) {
    return rate.peak * static_cast<double>(step) / static_cast<double>(rate.warmup_steps);
  }
  // Steps of the decay are counted so that the one after the last would have rate 0.
  const std::uint64_t decaying =
      rate.total_steps > rate.warmup_steps ? rate.total_steps - rate.warmup_steps : 1;
  const double done =
      std::min(1.0, static_cast<double>(step - 1 - rate.warmup_steps) / static_cast<double>(decaying));
  if (rate.schedule == "cosine") {
    return rate.peak * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return rate.schedule == "linear" ? rate.peak * (1 - done) : rate.peak;
}

}  // namespace rudder::train
