// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/cache/policy.h"

#include "cache/policies/score.h"

namespace rudder::cache::testing_support {

/// A policy with a buffer of its own, served batch by batch.
class Stepper {
 public:
  Stepper(const PolicyContext& context, const PolicySettings& settings, const ScoreRules& rules)
      : policy(context, settings, rules), buffer(context.capacity) {
    policy.start(buffer);
  }
  void serve(const std::vector<NodeId>& rows) {
    std::vector<SlotId> slots(rows.size());
    buffer.find_many(rows, slots);
    policy.serve({step++, rows, slots}, buffer);
  }

  ScorePolicy policy;
  Residency buffer;
  StepId step = 0;
};

inline PolicySettings settings_of(double alpha, std::uint32_t period, const std::string& init) {
  PolicySettings settings;
  settings.score_alpha = alpha;
  settings.score_period = period;
  settings.score_stale_after = period;
  settings.score_init = init;
  return settings;
}

}  // namespace rudder::cache::testing_support
