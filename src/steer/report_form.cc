// SPDX-License-Identifier: Apache-2.0
#include "steer/report_form.h"

#include <algorithm>
#include <array>

#include "rudder/core/text.h"

namespace rudder::steer {

std::size_t find_metric(std::string_view name) noexcept {
  const std::span<const MetricInfo> table = metric_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const MetricInfo& metric) { return metric.name == name; });
  return static_cast<std::size_t>(found - table.begin());
}

std::optional<Level> level_named(std::string_view name) noexcept {
  for (const Level level : {Level::kLow, Level::kMedium, Level::kHigh}) {
    if (name == name_of(level)) {
      return level;
    }
  }
  return std::nullopt;
}

bool is_report_line(std::string_view text) {
  return text.size() <= kMaxReportLine && one_line(text, kMaxReportLine) == text;
}

std::vector<std::string> newest_events(const Report& report) {
  std::vector<std::string> events;
  for (std::size_t i = report.events.size() - std::min(report.events.size(), kMaxEvents);
       i < report.events.size(); ++i) {
    events.push_back(one_line(report.events[i], kMaxReportLine));
  }
  return events;
}

}  // namespace rudder::steer
