// SPDX-License-Identifier: Apache-2.0
// A schedule as a picture: hosts by time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rudder/sched/sim_metrics.h"
#include "rudder/sched/simulator.h"

namespace rudder::sched {

struct GanttOptions {
  std::string title;
  std::size_t most_bars =
      20'000;  ///< stays with the most GPU-seconds are drawn first; the page says what is left out
};

/// One HTML page without outside references: a row a host (grouped by minipods), a bar a stay, zones as
/// frames; zoom with the wheel, details under the pointer. Names are escaped.
[[nodiscard]] std::string gantt_page(const Cluster& cluster, const Trace& trace, const SimResult& result,
                                     const SimMetrics& metrics, const GanttOptions& options);

}  // namespace rudder::sched
