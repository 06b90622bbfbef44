// SPDX-License-Identifier: Apache-2.0
#include "sim/lessons.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/sim/experiences.h"
#include "rudder/steer/classifier.h"

namespace rudder::sim {

Result<Lessons> Lessons::of(const ScenarioInfo& info, const Scenario& scenario, const SteerOptions& options) {
  Lessons lessons;
  if (info.lessons == nullptr) {
    return lessons;
  }
  lessons.given_ = true;
  RUDDER_ASSIGN(const std::vector<Scenario> scenarios, info.lessons(scenario.seed));
  for (const Scenario& lesson : scenarios) {
    RUDDER_CHECK(lesson.actions.key() == scenario.actions.key(), "lessons about other actions");
    const Provenance provenance = {fmt::format("{}-{}", lesson.name, lesson.seed), lesson.graph};
    RUDDER_ASSIGN(const auto windows, collect(lesson, provenance, {"hedge"}, options));
    lessons.windows_.insert(lessons.windows_.end(), windows.begin(), windows.end());
  }
  return lessons;
}

Result<std::unique_ptr<steer::Memory>> Lessons::memory() const {
  RUDDER_ASSIGN(std::unique_ptr<steer::Memory> memory, steer::Memory::open({}));
  for (const steer::Experience& window : windows_) {
    RUDDER_TRY(memory->add(window));
  }
  return memory;
}

Status Lessons::teach(std::string_view decider, steer::DeciderContext& context) const {
  const auto info = steer::find_decider(decider);
  if (!given_ || !info.ok() || !(*info)->needs_classifier || !context.classifier.empty()) {
    return {};
  }
  std::vector<std::size_t> all(windows_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  RUDDER_ASSIGN(steer::Classifier classifier,
                steer::Classifier::train(windows_, all, *context.actions,
                                         {.kind = std::string(decider), .seed = context.seed}));
  context.trained = std::make_shared<const steer::Classifier>(std::move(classifier));
  return {};
}

}  // namespace rudder::sim
