// SPDX-License-Identifier: Apache-2.0
// Windows in words for tests of prompts and of the model's decider.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "rudder/core/rng.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer::testing_support {

/// All levels medium but those given, and nothing changed.
inline Report report_with(std::initializer_list<std::pair<Metric, Level>> levels,
                          std::string action = "skip") {
  Report report;
  report.action = std::move(action);
  report.levels.fill(Level::kMedium);
  for (const auto& [metric, level] : levels) {
    report.levels[metric] = level;
  }
  return report;
}

/// Many hits and few stale rows: nothing to do. Few hits, many stale rows, stalls: replace.
inline Report fed(std::string action = "skip") {
  return report_with({{kHitRate, Level::kHigh}, {kStallShare, Level::kLow}, {kStaleShare, Level::kLow}},
                     std::move(action));
}
inline Report starved(std::string action = "skip") {
  return report_with({{kHitRate, Level::kLow}, {kStallShare, Level::kHigh}, {kStaleShare, Level::kHigh}},
                     std::move(action));
}

inline Experience experience(const ActionSet& actions, const Report& report, std::size_t best) {
  Experience of;
  of.run = "before";
  of.graph = "wordnet";
  of.action_set = actions.name;
  of.report = report;
  of.costs.assign(actions.actions.size(), 2.0);
  of.costs[best] = 1;
  of.best = best;
  return of;
}

inline Report random_report(CounterRng& rng, const ActionSet& actions) {
  Report report;
  report.sequence = rng.below(1'000'000);
  report.action = actions.actions[rng.below(actions.actions.size())].name;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    report.levels[i] = static_cast<Level>(rng.below(3));
    report.changed[i] = rng.below(3) == 0;
  }
  if (rng.below(3) == 0) {
    report.busiest_owner = "owner 2 serves 71 % of the rows";
  }
  for (std::uint64_t i = rng.below(12); i > 0; --i) {
    report.events.emplace_back(rng.below(300), 'e');
  }
  return report;
}

}  // namespace rudder::steer::testing_support
