// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/steer/window.h"

namespace rudder::steer {
namespace {

/// "owner 2" with the largest value; places beyond the last are all counted with it.
template <class Value>
std::string name_largest(const Window& window, Value value) {
  std::size_t largest = kMaxOwners;
  const std::size_t places = std::min<std::size_t>(window.owners, kMaxOwners);
  for (std::size_t i = 0; i < places; ++i) {
    if (i != window.self &&
        (largest == kMaxOwners || value(window.owner[i]) > value(window.owner[largest]))) {
      largest = i;
    }
  }
  const bool several = largest + 1 == kMaxOwners && window.owners > kMaxOwners;
  return fmt::format("owner{} {}{}", several ? "s" : "", largest, several ? " and beyond" : "");
}

std::string describe_owners(const Window& window, const LevelVector& levels) {
  std::string words;
  if (levels[kOwnerSkew] == Level::kHigh) {
    std::uint64_t all = 0;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(window.owners, kMaxOwners); ++i) {
      all += i == window.self ? 0 : window.owner[i].rows;
      most = std::max(most, i == window.self ? 0 : window.owner[i].rows);
    }
    if (all > 0) {
      words = fmt::format("{} serves {:.0f} % of the rows",
                          name_largest(window, [](const OwnerLoad& load) { return load.rows; }),
                          100 * static_cast<double>(most) / static_cast<double>(all));
    }
  }
  const double delay = metric_table()[kOwnerDelay].value(window);
  if (levels[kOwnerDelay] == Level::kHigh && delay > 1) {
    const auto mean = [](const OwnerLoad& load) {
      return load.answers > 0 && std::isfinite(load.seconds)
                 ? load.seconds / static_cast<double>(load.answers)
                 : -1;
    };
    words += fmt::format("{}{} takes {:.1f} times the median answer time", words.empty() ? "" : ", ",
                         name_largest(window, mean), delay);
  }
  return words;
}

}  // namespace

Report report_of(const Window& window, std::string_view action, const LevelVector& levels,
                 const LevelVector* before, std::span<const std::string> events) {
  Report report;
  report.sequence = window.sequence;
  report.action = one_line(action, kMaxReportLine);
  report.levels = levels;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    report.changed[i] = before == nullptr || (*before)[i] != levels[i];
  }
  report.busiest_owner = describe_owners(window, levels);
  for (const std::string& event : events.last(std::min(events.size(), kMaxEvents))) {
    report.events.push_back(one_line(event, kMaxReportLine));
  }
  return report;
}

}  // namespace rudder::steer
