// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/decision.h"

#include <cmath>
#include <utility>

namespace rudder::steer {
namespace {

Direction direction(double before, double after) {
  constexpr double kLeastChange = 0.02;  // relative
  if (std::abs(after - before) <= kLeastChange * before) {
    return Direction::kStagnant;
  }
  return after > before ? Direction::kIncrease : Direction::kDecrease;
}

double fetched_per_batch(const Window& window) {
  return window.end <= window.first
             ? 0
             : static_cast<double>(window.counts.fetched) / static_cast<double>(window.end - window.first);
}

}  // namespace

std::string_view name_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::kDecrease:
      return "decrease";
    case Direction::kStagnant:
      return "stagnant";
    case Direction::kIncrease:
      return "increase";
  }
  return "";
}

Expected effect_of(const Window& before, const Window& after) noexcept {
  const auto hit_rate = metric_table()[kHitRate].value;
  return {direction(hit_rate(before), hit_rate(after)),
          direction(fetched_per_batch(before), fetched_per_batch(after))};
}

LabelledWindow labelled(const Window& window, std::vector<double> costs, std::size_t fallback) {
  LabelledWindow result{.window = window, .costs = std::move(costs), .best = fallback};
  for (std::size_t action = 0; action < result.costs.size(); ++action) {
    if (result.costs[action] < result.costs[result.best]) {
      result.best = action;
    }
  }
  return result;
}

}  // namespace rudder::steer
