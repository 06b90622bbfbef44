// SPDX-License-Identifier: Apache-2.0
// What a pilot shows of itself while it steers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "rudder/metrics/registry.h"
#include "rudder/steer/controller.h"
#include "rudder/steer/pilot.h"

namespace rudder::steer {

/// Does nothing without a registry. The steering thread's.
class PilotFigures {
 public:
  PilotFigures(metrics::Registry* registry, const std::string& rank, const ActionSet& actions) {
    if (registry == nullptr) {
      return;
    }
    const metrics::Labels mine = {{"rank", rank}};
    for (std::size_t i = 0; i < kVerdicts; ++i) {
      verdicts_[i] =
          &registry->counter("rudder_steer_windows_total", "Windows settled, by verdict",
                             {{"rank", rank}, {"verdict", std::string(name_of(static_cast<Verdict>(i)))}});
    }
    for (const Action& action : actions.actions) {
      holds_.push_back(&registry->gauge("rudder_steer_action", "1 for the action settled last",
                                        {{"rank", rank}, {"action", action.name}}));
    }
    dropped_ = &registry->gauge("rudder_steer_windows_dropped",
                                "Windows not decided on because steering fell behind", mine);
    mismatches_ = &registry->counter("rudder_steer_replay_mismatches_total",
                                     "Windows whose replay counted other rows than the live buffer", mine);
    latency_ = &registry->histogram("rudder_steer_decision_seconds", "Time from asking to deciding",
                                    metrics::latency_bounds(), mine);
    staleness_ = &registry->counter("rudder_steer_staleness_windows_total",
                                    "Windows between those decided on and those settled at", mine);
  }

  void settled(const DecisionRecord& record, std::uint64_t dropped) noexcept {
    if (dropped_ == nullptr) {
      return;
    }
    verdicts_[static_cast<std::size_t>(record.verdict)]->add();
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      holds_[i]->set(i == record.applied ? 1 : 0);
    }
    dropped_->set(static_cast<double>(dropped));
    staleness_->add(record.staleness);
    if (record.decision && !record.from_cache) {
      latency_->observe(record.decision->seconds);
    }
  }
  void mismatched() noexcept {
    if (mismatches_ != nullptr) {
      mismatches_->add();
    }
  }

 private:
  std::array<metrics::Counter*, kVerdicts> verdicts_{};
  std::vector<metrics::Gauge*> holds_;
  metrics::Gauge* dropped_ = nullptr;
  metrics::Counter* mismatches_ = nullptr;
  metrics::Counter* staleness_ = nullptr;
  metrics::Histogram* latency_ = nullptr;
};

}  // namespace rudder::steer
