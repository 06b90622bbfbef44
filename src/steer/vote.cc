// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/vote.h"

#include <algorithm>
#include <vector>

namespace rudder::steer {
namespace {

double weight_of(const Experience& experience, const Features& features) {
  return std::max(0.0, similarity(experience.features, features));
}

}  // namespace

Vote vote_of(std::span<const Experience> near, const Features& features, const ActionSet& actions) {
  Vote vote{actions.fallback, 0};
  std::vector<double> prices(actions.actions.size());
  double total = 0;
  for (const Experience& each : near) {
    const double weight = weight_of(each, features);
    const double least = each.costs[each.best];
    total += weight;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      prices[i] += least > 0 ? weight * (each.costs[i] / least - 1) : 0;
    }
  }
  if (!(total > 0)) {
    return vote;
  }
  const auto least = std::min_element(prices.begin(), prices.end());
  if (prices[actions.fallback] > *least) {
    vote.action = static_cast<std::size_t>(least - prices.begin());
  }
  double agreeing = 0;
  for (const Experience& each : near) {
    agreeing += each.best == vote.action ? weight_of(each, features) : 0;
  }
  vote.confidence = agreeing / total;
  return vote;
}

}  // namespace rudder::steer
