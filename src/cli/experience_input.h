// SPDX-License-Identifier: Apache-2.0
// Where the commands that learn take labelled windows from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sim/experiences.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"

#include "cli/option_table.h"
#include "cli/world_options.h"

namespace rudder::cli {

/// --actions: `replace`, or a scenario, which stands for its action set.
[[nodiscard]] Result<steer::ActionSet> action_set_of(const std::string& name);

struct LabelledWindows {
  steer::ActionSet actions;
  std::vector<steer::Experience> windows;
  /// In the order of their first windows.
  [[nodiscard]] std::vector<std::string> graphs() const;
};

/// Stores, scenarios and traces together; one at least. Shows progress.
class ExperienceInput {
 public:
  void add_to(OptionTable& table);
  /// `command` titles the progress. An error when there is nothing to load, or no window in it.
  [[nodiscard]] Result<LabelledWindows> load(const std::string& command) const;
  [[nodiscard]] std::uint64_t seed() const noexcept { return collect_.first_seed; }

 private:
  [[nodiscard]] Result<std::vector<steer::Experience>> from_memories(const steer::ActionSet& actions) const;
  [[nodiscard]] Result<std::vector<steer::Experience>> from_traces(const std::string& command) const;

  std::string actions_;
  std::string memories_, scenarios_, traces_;
  std::string deciders_ = "hedge,bandit";
  sim::CollectOptions collect_;
  WorldOptions world_;
};

}  // namespace rudder::cli
