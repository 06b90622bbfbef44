// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/deciding.h"

#include <vector>

#include "rudder/metrics/quantile.h"

namespace rudder::sim {
namespace {

/// Of part / whole, when there is a whole.
std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Deciding deciding(std::span<const steer::ControllerTotals* const> runs) {
  Deciding all;
  std::uint64_t valid = 0, predictions = 0, right = 0;
  std::vector<double> latencies;
  for (const steer::ControllerTotals* const run : runs) {
    all.windows += run->windows;
    all.decisions += run->decisions;
    all.applied += run->applied;
    all.dropped += run->dropped;
    all.model_calls += run->model_calls;
    valid += run->valid_replies;
    predictions += run->predictions;
    right += run->right_directions;
    latencies.insert(latencies.end(), run->latencies.begin(), run->latencies.end());
  }
  all.valid_rate = share_of(valid, all.model_calls);
  all.first_try_direction = share_of(right, predictions);
  if (!latencies.empty()) {
    all.latency_p50 = metrics::quantile(latencies, 0.5);
    all.latency_p95 = metrics::quantile(latencies, 0.95);
  }
  return all;
}

}  // namespace rudder::sim
