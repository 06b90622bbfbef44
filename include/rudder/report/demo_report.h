// SPDX-License-Identifier: Apache-2.0
// The comparison of cache policies on one graph: terminal table and self-contained HTML page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::report {

/// One line of a steered run's log: what was settled at a window's end.
struct DemoDecision {
  std::uint64_t step = 0;  ///< batches until there
  double time = 0;         ///< seconds since the run began
  std::string verdict;
  std::string held;     ///< action during the window
  std::string applied;  ///< action from the next border on
  std::string action;   ///< decided for; empty: nothing was, or nothing known
  std::string reason;
  double hit_rate = 0, stall_share = 0, link_bytes_per_second = 0;  ///< of the window
};

/// What steering did in a run, over all ranks; the log is rank 0's.
struct DemoSteering {
  std::string decider;
  std::string model;         ///< that it asked; empty: none
  std::uint32_t window = 0;  ///< batches
  std::uint64_t windows = 0, dropped_windows = 0;
  std::uint64_t decisions = 0, applied = 0, rejected = 0, no_answers = 0, changes = 0;
  std::uint64_t model_calls = 0, valid_replies = 0;
  std::uint64_t mismatches = 0;
  double staleness = 0;                     ///< windows between decided on and settled at, mean
  double latency_p50 = 0, latency_p95 = 0;  ///< seconds of a decision
  std::vector<DemoDecision> log;
};

/// One policy's run. Times are means over its epochs but the first (over all when there is one), of the rank
/// that stalled longest in each.
struct DemoRow {
  std::string policy;
  double epoch_seconds = 0, compute_seconds = 0, all_reduce_seconds = 0, stall_seconds = 0;
  std::uint64_t requests = 0, hits = 0, fetched = 0;  ///< remote rows, all ranks, whole run
  std::uint64_t payload_bytes = 0, wire_bytes = 0;    ///< all ranks, whole run
  std::uint64_t link_bytes = 0;  ///< what the kernel counted on all links (gradients too); 0: not counted
  double ratio_to_min = 0;       ///< fetched / Belady's minimum at the same buffer
  double val_accuracy = 0, test_accuracy = 0;
  std::string loss_digest;
  double speedup_vs_none = 0;          ///< epochs/s over those of `none`; 0 when `none` was not run
  std::vector<double> step_losses;     ///< rank 0
  std::vector<double> step_hit_rates;  ///< rank 0
  std::optional<DemoSteering> steering = std::nullopt;
};

/// Runs in a world that changes.
struct DemoScenario {
  std::string name;  ///< shrinking-link
  std::string help;  ///< what changes when
  std::vector<DemoRow> rows;
};

struct DemoReport {
  std::string title;
  std::string machine;  ///< processor, cores, memory
  std::string link;     ///< rate and how it was made
  std::string graph;    ///< name and sizes
  std::string command;  ///< that repeats the run
  std::string version;
  std::uint32_t parts = 0, epochs = 0, steps_per_epoch = 0;
  std::string buffer;             ///< as given, with the rows it makes
  std::uint64_t min_fetched = 0;  ///< Belady's minimum on this trace and buffer, all ranks
  std::vector<DemoRow> rows;
  std::vector<DemoScenario> scenarios;
  std::vector<std::string> skipped;  ///< rows that could not run, and why
};

/// Table of all rows and, below it, what holds for all (same losses, same accuracy) or does not.
[[nodiscard]] std::string demo_table(const DemoReport& report);

/// Writes one HTML file that opens anywhere without a network: Chart.js (Debian's libjs-chart.js) is inlined
/// from `chart_js`. Charts: epoch time split into compute, all-reduce and stall; rows fetched beside the
/// minimum; hit rate over batches; loss over batches; of steered runs what was decided when and why. Light
/// and dark by the reader's setting. All text is escaped.
[[nodiscard]] Status write_demo_html(
    const std::filesystem::path& path, const DemoReport& report,
    const std::filesystem::path& chart_js = "/usr/share/javascript/chart.js/chart.min.js");

}  // namespace rudder::report
