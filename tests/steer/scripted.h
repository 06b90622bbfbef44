// SPDX-License-Identifier: Apache-2.0
// Drives a controller by hand, and remembers what it tells its memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rudder/steer/controller.h"

#include "steer/windows.h"

namespace rudder::steer::testing_support {

/// Keeps what it is told; refuses while `broken`.
class ListMemory final : public Memory {
 public:
  [[nodiscard]] Status add(const Experience& experience) override {
    if (broken) {
      return Error{Errc::kIo, "list: disk full"};
    }
    kept.push_back(experience);
    return {};
  }
  [[nodiscard]] Result<std::vector<Experience>> nearest(const ActionSet& /*actions*/,
                                                        const Features& /*features*/, std::size_t /*k*/,
                                                        const std::string& /*except_run*/) const override {
    return kept;
  }
  [[nodiscard]] Result<std::vector<Experience>> all(const ActionSet& /*actions*/,
                                                    const std::string& /*graph*/) const override {
    return kept;
  }

  std::vector<Experience> kept;
  bool broken = false;
};

/// Without the evaluator's advice, so that only the decider moves anything.
inline ControllerOptions alone() {
  ControllerOptions options;
  options.guard.tolerated_excess = -1;
  options.run = "run";
  options.graph = "graph";
  return options;
}

/// One second a window. The costs of the actions are those of `costs` until changed.
class Scripted {
 public:
  Scripted(ActionSet set, const ControllerOptions& options, std::vector<double> costs_of_actions)
      : actions(std::move(set)), costs(std::move(costs_of_actions)), controller(actions, &memory, options) {}

  [[nodiscard]] TimePoint now() const { return TimePoint(from_seconds(static_cast<double>(windows))); }
  /// Ends one more window; true when the decider should be asked.
  bool window(std::uint64_t hits = 50) {
    LabelledWindow labelled = labelled_at(windows, costs, hits);
    labelled.window.action = controller.action();
    ++windows;
    return controller.window_ended(labelled, now());
  }
  [[nodiscard]] std::uint64_t last() const { return windows - 1; }
  void answer(std::size_t action, std::uint64_t sequence, std::optional<Expected> expected = std::nullopt) {
    Decision decision;
    decision.sequence = sequence;
    decision.action = action;
    decision.expected = expected;
    decision.seconds = 0.25;
    decision.from_model = true;
    controller.answered(decision, now());
  }
  void answer(std::size_t action) { answer(action, last()); }
  void fail() { controller.answered(Error{Errc::kTimeout, "no answer"}, now()); }
  DecisionRecord settle() { return controller.settle(now()); }
  /// A whole window in which the decider, when asked, decides at once.
  DecisionRecord decided(std::size_t action, std::uint64_t hits = 50) {
    if (window(hits)) {
      answer(action);
    }
    return settle();
  }
  [[nodiscard]] std::uint64_t count(Verdict verdict) const {
    return controller.totals().verdicts[static_cast<std::size_t>(verdict)];
  }

  ActionSet actions;
  ListMemory memory;
  std::vector<double> costs;
  std::uint64_t windows = 0;
  Controller controller;
};

}  // namespace rudder::steer::testing_support
