// SPDX-License-Identifier: Apache-2.0
// Made-up windows and experiences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer::testing_support {

/// A window of 10 batches with 100 requests each.
inline Window hit_window(std::uint64_t sequence, double hit_rate, std::size_t action = 0) {
  Window window;
  window.sequence = sequence;
  window.first = sequence * 10;
  window.end = window.first + 10;
  window.action = action;
  window.seconds = 1;
  window.counts.requests = 1000;
  window.counts.hits = static_cast<std::uint64_t>(hit_rate * 1000 + 0.5);
  window.counts.fetched = window.counts.requests - window.counts.hits;
  window.slots = window.resident = 100;
  window.stale = 50;
  return window;
}

/// One whose every part is drawn.
inline Experience drawn_experience(const ActionSet& actions, std::uint64_t seed) {
  CounterRng rng({seed, 0x6578});
  Experience experience;
  experience.run = "run" + std::to_string(rng.below(4));
  experience.graph = "graph" + std::to_string(rng.below(3));
  experience.action_set = actions.key();
  experience.sequence = rng();
  for (float& feature : experience.features) {
    feature = static_cast<float>(rng.unit() * 2);
  }
  for (std::size_t i = 0; i < actions.actions.size(); ++i) {
    experience.costs.push_back(0.1 + rng.unit());
  }
  experience.best = static_cast<std::size_t>(
      std::min_element(experience.costs.begin(), experience.costs.end()) - experience.costs.begin());
  experience.report.sequence = experience.sequence;
  experience.report.action = actions.actions[0].name;
  experience.report.levels[rng.below(kMetrics)] = Level::kHigh;
  experience.report.events = {"note " + std::to_string(rng.below(100))};
  if (rng.below(2) == 0) {
    experience.decision = Decision{.sequence = experience.sequence,
                                   .action = rng.below(actions.actions.size()),
                                   .confidence = rng.unit(),
                                   .reason = "because \"traffic\" grows",
                                   .expected = Expected{Direction::kIncrease, Direction::kDecrease},
                                   .seconds = rng.unit(),
                                   .from_model = true,
                                   .valid_reply = rng.below(2) == 0};
    experience.observed = Expected{Direction::kStagnant, Direction::kIncrease};
  }
  return experience;
}

inline void expect_equal(const Experience& a, const Experience& b) {
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.graph, b.graph);
  EXPECT_EQ(a.action_set, b.action_set);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.report, b.report);
  EXPECT_EQ(a.costs, b.costs);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.observed, b.observed);
  ASSERT_EQ(a.decision.has_value(), b.decision.has_value());
  if (a.decision.has_value()) {
    EXPECT_EQ(a.decision->sequence, b.decision->sequence);
    EXPECT_EQ(a.decision->action, b.decision->action);
    EXPECT_EQ(a.decision->confidence, b.decision->confidence);
    EXPECT_EQ(a.decision->reason, b.decision->reason);
    EXPECT_EQ(a.decision->expected, b.decision->expected);
    EXPECT_EQ(a.decision->seconds, b.decision->seconds);
    EXPECT_EQ(a.decision->from_model, b.decision->from_model);
    EXPECT_EQ(a.decision->valid_reply, b.decision->valid_reply);
  }
}

/// Two depths and two rates: a set of four actions.
inline ActionSet four_knobs() {
  return knob_actions({.policies = {"lookahead"},
                       .depths = {2, 4},
                       .prefetch_bytes_per_second = {0, 1e6},
                       .slot_shares = {1}})
      .value();
}

}  // namespace rudder::steer::testing_support
