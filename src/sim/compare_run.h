// SPDX-License-Identifier: Apache-2.0
// One method on one buffer's accesses.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sim/scenario.h"
#include "rudder/sim/steer_compare.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"

namespace rudder::sim {

/// What is known of other graphs than the one at hand.
struct Foreign {
  std::vector<steer::Experience> windows;
  std::map<std::string, std::filesystem::path> classifiers;  ///< by kind
};

/// What a method needs to know beforehand.
struct Method {
  std::string spec;
  const steer::DeciderInfo* decider = nullptr;  ///< null: not a decider
  std::uint32_t period = 0;                     ///< batches, of fixed:P; else 0

  [[nodiscard]] bool remembers() const;  ///< goes by windows of other graphs
  [[nodiscard]] bool learns() const;     ///< by them, or by a classifier of them
};
/// An unknown one is an error with a near-miss hint.
[[nodiscard]] Result<Method> parse_method(const std::string& spec);

/// `scenario` comes back as it was.
[[nodiscard]] Result<SteeredRun> run_method(Scenario& scenario, const Method& method, const Foreign& foreign,
                                            const CompareOptions& options);

}  // namespace rudder::sim
