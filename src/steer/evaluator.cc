// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "rudder/core/check.h"
#include "rudder/steer/guard.h"

namespace rudder::steer {

Evaluator::Evaluator(const ActionSet& actions, double half_life)
    : fallback_(actions.fallback),
      keep_(half_life > 0 ? std::exp2(-1 / half_life) : 0),
      costs_(actions.actions.size(), 0.0) {}

void Evaluator::learn(const LabelledWindow& labelled) {
  RUDDER_CHECK(labelled.costs.size() == costs_.size(), "a labelled window has one cost an action");
  if (!std::all_of(labelled.costs.begin(), labelled.costs.end(),
                   [](double cost) { return cost >= 0 && std::isfinite(cost); })) {
    return;
  }
  weight_ = keep_ * weight_ + 1;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    costs_[i] += (labelled.costs[i] - costs_[i]) / weight_;
  }
}

std::optional<double> Evaluator::excess(std::size_t action) const {
  RUDDER_CHECK(action < costs_.size(), "an action of the set");
  if (weight_ == 0) {
    return std::nullopt;
  }
  const double least = *std::min_element(costs_.begin(), costs_.end());
  if (costs_[action] == least) {
    return 0;
  }
  return least > 0 ? costs_[action] / least - 1 : std::numeric_limits<double>::infinity();
}

std::size_t Evaluator::best() const {
  const auto least = std::min_element(costs_.begin(), costs_.end());
  return costs_[fallback_] == *least ? fallback_ : static_cast<std::size_t>(least - costs_.begin());
}

}  // namespace rudder::steer
