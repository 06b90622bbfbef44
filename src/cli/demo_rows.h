// SPDX-License-Identifier: Apache-2.0
// What the demo runs one after another: policies, with or without somebody who steers them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/launch/companion.h"
#include "rudder/report/demo_report.h"

#include "cli/command.h"
#include "cli/demo_cluster.h"

namespace rudder::cli {

/// Batches between two decisions of the demo, whose epochs are short: two seconds, in which the four ranks'
/// questions to one small model can be answered.
inline constexpr std::uint32_t kDemoWindow = 8;

struct DemoEntry {
  std::string label;   ///< "score", "score + agent"
  std::string folder;  ///< of the run
  std::string policy;
  std::string decider;  ///< empty: nobody steers
  bool asks_agent = false;
  bool shrinks = false;  ///< the link shrinks in the middle of the run
};

/// POLICY, or POLICY+DECIDER: agent (a language model of this host), fixed (replaces in every window, or
/// stays with the first knobs), or a decider as rudder train --agent takes it. Unknown policies are errors.
[[nodiscard]] Result<DemoEntry> parse_demo_entry(const std::string& text);
/// The arguments that steer a run of the entry, for rudder train.
[[nodiscard]] std::vector<std::string> steering_arguments(const DemoEntry& entry,
                                                          const std::filesystem::path& run,
                                                          const std::filesystem::path& agent_socket);

/// The demo's `rudder agent`, which lives as long as this.
class DemoAgent {
 public:
  /// Starts it; an error says how to get one.
  [[nodiscard]] static Result<DemoAgent> start(const std::string& executable,
                                               const std::filesystem::path& socket);
  [[nodiscard]] const std::string& model() const noexcept { return model_; }

 private:
  std::string model_;  ///< as it names it
  std::unique_ptr<launch::Companion> process_;
};

/// The entry's row, from its run's result and logs; the ratio to the minimum and the model's name stay open.
[[nodiscard]] Result<report::DemoRow> make_demo_row(const DemoEntry& entry, const ClusterRun& finished,
                                                    const std::filesystem::path& run);
/// As `demo --json` prints them.
[[nodiscard]] Json demo_rows_json(const std::vector<report::DemoRow>& rows);

}  // namespace rudder::cli
