// SPDX-License-Identifier: Apache-2.0
// Deciders on scenarios, beside the best fixed setting and the oracle: a self-contained HTML page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::report {

/// One run of a scenario, window by window.
struct SteerRun {
  std::string name;
  std::vector<double> seconds;
  std::vector<std::size_t> actions;  ///< that held; parallel
};

/// One decider on one scenario, means over seeds; intervals are half of the 95 % interval's width.
struct SteerRow {
  std::string decider;
  double cost = 0;  ///< seconds
  std::string best_fixed;
  double best_fixed_cost = 0, oracle_cost = 0;
  double over_best_fixed = 0, over_best_fixed_interval = 0;  ///< shares
  double over_oracle = 0, over_oracle_interval = 0;
  std::uint64_t decisions = 0, applied = 0, dropped = 0;
  std::optional<double> best_choices;  ///< share of decisions that nothing would have beaten
};

struct SteerPhase {
  std::size_t first = 0;  ///< window
  std::string name;
};

struct SteerScenario {
  std::string name, help, graph;
  std::uint64_t seed = 0;            ///< of the runs
  std::uint32_t window = 0;          ///< batches
  std::vector<std::string> actions;  ///< names
  std::vector<SteerPhase> phases;
  SteerRun best_fixed, oracle;
  std::vector<SteerRow> rows;
  std::vector<SteerRun> runs;  ///< parallel
};

struct SteerReport {
  std::string command;  ///< that repeats it
  std::string version;
  std::uint64_t seeds = 0;
  std::vector<std::string> left_out;  ///< lines
  std::vector<SteerScenario> scenarios;
};

/// One file that opens anywhere without a network: Chart.js (Debian's libjs-chart.js) is inlined from
/// `chart_js`. One table of all rows; for each scenario the seconds of each window and the actions that held,
/// of each decider, the best fixed setting and the oracle. Light and dark by the reader's setting. All text
/// is escaped.
[[nodiscard]] Status write_steer_html(
    const std::filesystem::path& path, const SteerReport& report,
    const std::filesystem::path& chart_js = "/usr/share/javascript/chart.js/chart.min.js");

}  // namespace rudder::report
