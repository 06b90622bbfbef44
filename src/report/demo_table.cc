// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/report/demo_report.h"
#include "rudder/report/table.h"

namespace rudder::report {
namespace {

/// What must hold between policies: none of them may change a batch or a feature.
std::string agreement(const DemoReport& report) {
  if (report.rows.size() < 2) {
    return {};
  }
  const DemoRow& first = report.rows.front();
  std::string different;
  for (const DemoRow& row : report.rows) {
    if (row.loss_digest != first.loss_digest || row.test_accuracy != first.test_accuracy) {
      different += (different.empty() ? "" : ", ") + row.policy;
    }
  }
  if (different.empty()) {
    return fmt::format("All policies trained alike: loss digest {:.16}, test accuracy {:.4f}.\n",
                       first.loss_digest, first.test_accuracy);
  }
  return fmt::format("WRONG: these policies changed the training, which no policy may: {}\n", different);
}

}  // namespace

std::string demo_table(const DemoReport& report) {
  TextTable table({"policy", "s/epoch", "compute", "all-reduce", "stall", "stall %", "fetched", "/ min",
                   "hits %", "wire", "test acc", "speed-up"});
  for (const DemoRow& row : report.rows) {
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
  return fmt::format(
      "\n{}\nThe minimum (Belady, the whole future known) on this trace and buffer: {} rows.\n{}",
      table.text(), report.min_fetched, agreement(report));
}

}  // namespace rudder::report
