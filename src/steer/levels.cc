// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "rudder/steer/window.h"

namespace rudder::steer {
namespace {

Level level_of(double value, const MetricInfo& metric) {
  return value < metric.low ? Level::kLow : value > metric.high ? Level::kHigh : Level::kMedium;
}

/// Whether `value` has passed a bound of `level` by more than the margin.
bool leaves(Level level, double value, const MetricInfo& metric) {
  switch (level) {
    case Level::kLow:
      return value > metric.low + metric.margin;
    case Level::kMedium:
      return value < metric.low - metric.margin || value > metric.high + metric.margin;
    case Level::kHigh:
      return value < metric.high - metric.margin;
  }
  return false;
}

}  // namespace

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::kLow:
      return "low";
    case Level::kMedium:
      return "medium";
    case Level::kHigh:
      return "high";
  }
  return "";
}

const LevelVector& Levels::update(const Features& features) noexcept {
  const std::span<const MetricInfo> table = metric_table();
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto value = static_cast<double>(features[i]);
    if (first_ || leaves(levels_[i], value, table[i])) {
      levels_[i] = level_of(value, table[i]);
    }
  }
  first_ = false;
  return levels_;
}

}  // namespace rudder::steer
