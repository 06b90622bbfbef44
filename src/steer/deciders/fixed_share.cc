// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/fixed_share.h"

#include <cmath>

#include "rudder/core/check.h"

namespace rudder::steer {

FixedShare::Options FixedShare::for_phase(std::size_t actions, double phase) {
  const double share = 1 / phase;
  const double entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  const double logarithm = std::log(static_cast<double>(actions));
  return {std::sqrt(8 * (logarithm + phase * entropy) / phase), share};
}

FixedShare::FixedShare(std::size_t actions, const Options& options)
    : options_(options), weights_(actions, 1 / static_cast<double>(actions)) {}

void FixedShare::learn(std::span<const double> losses) {
  RUDDER_CHECK(losses.size() == weights_.size(), "one loss an action");
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    weights_[i] *= std::exp(-options_.rate * losses[i]);
    sum += weights_[i];
  }
  for (double& weight : weights_) {
    weight = (1 - options_.share) * weight / sum + options_.share / static_cast<double>(weights_.size());
  }
}

}  // namespace rudder::steer
