// SPDX-License-Identifier: Apache-2.0
// What deciders did, over several runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rudder/steer/controller.h"

namespace rudder::sim {

struct Deciding {
  std::uint64_t windows = 0, decisions = 0, applied = 0, dropped = 0, model_calls = 0;
  std::optional<double> valid_rate;           ///< of a model's replies
  std::optional<double> first_try_direction;  ///< valid at first try and the direction foreseen came true
  std::optional<double> latency_p50, latency_p95;  ///< seconds of a decision, measured
};

/// Summed over runs; rates and quantiles of all that they did. What never happened has no rate.
[[nodiscard]] Deciding deciding(std::span<const steer::ControllerTotals* const> runs);

}  // namespace rudder::sim
