// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/report/demo_report.h"
#include "rudder/report/table.h"

namespace rudder::report {
namespace {

/// All runs, those in changing worlds too.
std::vector<const DemoRow*> all_rows(const DemoReport& report) {
  std::vector<const DemoRow*> rows;
  for (const DemoRow& row : report.rows) {
    rows.push_back(&row);
  }
  for (const DemoScenario& scenario : report.scenarios) {
    for (const DemoRow& row : scenario.rows) {
      rows.push_back(&row);
    }
  }
  return rows;
}

/// What must hold between policies: none of them may change a batch or a feature.
std::string agreement(const DemoReport& report) {
  const std::vector<const DemoRow*> rows = all_rows(report);
  if (rows.size() < 2) {
    return {};
  }
  const DemoRow& first = *rows.front();
  std::string different;
  for (const DemoRow* row : rows) {
    if (row->loss_digest != first.loss_digest || row->test_accuracy != first.test_accuracy) {
      different += (different.empty() ? "" : ", ") + row->policy;
    }
  }
  if (different.empty()) {
    return fmt::format("All policies trained alike: loss digest {:.16}, test accuracy {:.4f}.\n",
                       first.loss_digest, first.test_accuracy);
  }
  return fmt::format("WRONG: these policies changed the training, which no policy may: {}\n", different);
}

std::string steering_line(const DemoRow& row) {
  const DemoSteering& steering = *row.steering;
  std::string line = fmt::format(
      "{}: {} decisions in {} windows of {} batches, {} applied, {} refused, setting changed {} times",
      row.policy, steering.decisions, steering.windows, steering.window, steering.applied, steering.rejected,
      steering.changes);
  if (steering.model_calls > 0) {
    line += fmt::format(
        "; {:.1f} % valid replies, {:.2f} s a decision (95 %: {:.2f} s), {:.2f} windows old",
        100 * static_cast<double>(steering.valid_replies) / static_cast<double>(steering.model_calls),
        steering.latency_p50, steering.latency_p95, steering.staleness);
  }
  if (steering.no_answers > 0) {
    line += fmt::format("; {} windows without an answer", steering.no_answers);
  }
  if (steering.dropped_windows > 0) {
    line += fmt::format("; {} windows passed by undecided", steering.dropped_windows);
  }
  if (steering.mismatches > 0) {
    line += fmt::format("; WRONG: {} windows differ from their replay", steering.mismatches);
  }
  return line + "\n";
}

TextTable table_of(const std::vector<DemoRow>& rows) {
  TextTable table({"policy", "s/epoch", "compute", "all-reduce", "stall", "stall %", "fetched", "/ min",
                   "hits %", "wire", "test acc", "speed-up"});
  for (const DemoRow& row : rows) {
    table.add({row.policy, fmt::format("{:.3f}", row.epoch_seconds),
               fmt::format("{:.3f}", row.compute_seconds), fmt::format("{:.3f}", row.all_reduce_seconds),
               fmt::format("{:.3f}", row.stall_seconds),
               fmt::format("{:.1f}", 100 * row.stall_seconds / row.epoch_seconds),
               std::to_string(row.fetched), fmt::format("{:.3f}", row.ratio_to_min),
               fmt::format("{:.1f}", 100.0 * static_cast<double>(row.hits) /
                                         static_cast<double>(std::max<std::uint64_t>(1, row.requests))),
               human_bytes(static_cast<double>(row.wire_bytes)), fmt::format("{:.4f}", row.test_accuracy),
               row.speedup_vs_none > 0 ? fmt::format("{:.2f}x", row.speedup_vs_none) : "-"});
  }
  return table;
}

}  // namespace

std::string demo_table(const DemoReport& report) {
  std::string text =
      fmt::format("\n{}\nThe minimum (Belady, the whole future known) on this trace and buffer: {} rows.\n",
                  table_of(report.rows).text(), report.min_fetched);
  for (const DemoScenario& scenario : report.scenarios) {
    text += fmt::format("\n{}: {}; times are means over all epochs\n{}", scenario.name, scenario.help,
                        table_of(scenario.rows).text());
  }
  for (const DemoRow* row : all_rows(report)) {
    text += row->steering ? steering_line(*row) : "";
  }
  for (const std::string& skipped : report.skipped) {
    text += "skipped: " + skipped + "\n";
  }
  return text + agreement(report);
}

}  // namespace rudder::report
