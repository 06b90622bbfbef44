// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "rudder/core/check.h"
#include "rudder/sim/steer_eval.h"

namespace rudder::sim {
namespace {

/// The part for a window (never a phase's first) whose action is not the oracle's, where that one is not on
/// its way.
double RegretParts::*chosen_by(const SteeredRun& run, std::size_t window) {
  switch (run.records[window - 1].verdict) {
    case steer::Verdict::kApplied:
    case steer::Verdict::kUnchanged:
      return &RegretParts::decider;
    case steer::Verdict::kCoolingDown:
      return &RegretParts::cooling;
    default:
      return &RegretParts::evaluator;
  }
}

/// Windows [first, end) of one phase.
void add_phase_parts(const SteeredRun& run, const SteeredRun& oracle, std::size_t first, std::size_t end,
                     RegretParts& parts) {
  std::size_t reached = first;  // the first window under the oracle's action
  while (reached < end && run.actions[reached] != oracle.actions[reached]) {
    ++reached;
  }
  for (std::size_t window = first; window < end; ++window) {
    const double seconds = run.by_window[window] - oracle.by_window[window];
    const bool same = run.actions[window] == oracle.actions[window];
    double RegretParts::*const part = same                                ? &RegretParts::carried
                                      : window == first                   ? &RegretParts::unforeseen
                                      : window < reached && reached < end ? &RegretParts::late
                                                                          : chosen_by(run, window);
    parts.*part += seconds;
  }
}

}  // namespace

void RegretParts::add(const RegretParts& other, double factor) noexcept {
  unforeseen += factor * other.unforeseen;
  late += factor * other.late;
  decider += factor * other.decider;
  evaluator += factor * other.evaluator;
  cooling += factor * other.cooling;
  carried += factor * other.carried;
}

RegretParts regret_parts(const Scenario& scenario, const SteeredRun& run, const SteeredRun& oracle) {
  const std::size_t windows = scenario.windows();
  RUDDER_CHECK(
      run.actions.size() == windows && run.records.size() == windows && oracle.actions.size() == windows,
      "runs of another scenario");
  RegretParts parts;
  for (std::size_t phase = 0; phase < scenario.phases.size(); ++phase) {
    const std::size_t first = scenario.phases[phase].first / scenario.window;
    const std::size_t end =
        phase + 1 < scenario.phases.size() ? scenario.phases[phase + 1].first / scenario.window : windows;
    add_phase_parts(run, oracle, first, end, parts);
  }
  return parts;
}

}  // namespace rudder::sim
