// SPDX-License-Identifier: Apache-2.0
// A simulated schedule as JSON and as text.
#pragma once

#include <string>

#include "rudder/sched/jct.h"
#include "rudder/sched/sim_metrics.h"

#include "cli/command.h"

namespace rudder::cli {

/// Names as docs/scheduling.md lists them; without `starts`.
[[nodiscard]] Json metrics_json(const sched::SimMetrics& metrics);
/// One object a stay: job, time, nodes.
[[nodiscard]] Json starts_json(const sched::Cluster& cluster, const sched::Trace& trace,
                               const sched::SimResult& result);
[[nodiscard]] Json scores_json(const sched::JctScores& scores);
[[nodiscard]] std::string metrics_text(const sched::SimMetrics& metrics);
[[nodiscard]] std::string scores_text(const sched::JctScores& scores);

}  // namespace rudder::cli
