// SPDX-License-Identifier: Apache-2.0
// Experiences whose best action a known rule says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/steer/memory.h"

namespace rudder::steer::testing_support {

struct Ruled {
  std::uint64_t seed = 1;
  std::size_t graphs = 3;
  std::size_t runs = 4;       ///< of each graph
  std::size_t windows = 120;  ///< of each run
  double noise = 0;           ///< share of windows for which another action is the best one
};

/// With two actions the second is best where hit rate plus half of the stall share is below 0.7; with more,
/// that figure's place in 0..1.5 says which.
inline std::size_t rule_of(const Features& features, std::size_t actions) {
  const double figure =
      static_cast<double>(features[kHitRate]) + static_cast<double>(features[kStallShare]) / 2;
  if (actions == 2) {
    return figure < 0.7 ? 1 : 0;
  }
  return std::min(actions - 1, static_cast<std::size_t>(figure / 1.5 * static_cast<double>(actions)));
}

inline std::vector<Experience> ruled_windows(const ActionSet& actions, const Ruled& made) {
  std::vector<Experience> all;
  CounterRng rng({made.seed, 61});
  for (std::size_t graph = 0; graph < made.graphs; ++graph) {
    for (std::size_t run = 0; run < made.runs; ++run) {
      for (std::size_t window = 0; window < made.windows; ++window) {
        Experience each;
        each.graph = "graph" + std::to_string(graph);
        each.run = "run" + std::to_string(run);
        each.action_set = actions.key();
        each.sequence = window;
        for (float& feature : each.features) {
          feature = static_cast<float>(rng.unit());
        }
        each.best = rule_of(each.features, actions.actions.size());
        if (rng.unit() < made.noise) {
          each.best = (each.best + 1) % actions.actions.size();
        }
        each.costs.assign(actions.actions.size(), 1.5);
        each.costs[each.best] = 1;
        all.push_back(each);
      }
    }
  }
  return all;
}

}  // namespace rudder::steer::testing_support
