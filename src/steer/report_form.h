// SPDX-License-Identifier: Apache-2.0
// What the two forms of a report share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/steer/window.h"

namespace rudder::steer {

inline constexpr std::size_t kMaxReportBytes = 16 * 1024;  ///< text or JSON; longer ones are refused

/// Of the metric in the table, or kMetrics.
[[nodiscard]] std::size_t find_metric(std::string_view name) noexcept;
[[nodiscard]] std::optional<Level> level_named(std::string_view name) noexcept;
/// Whether the text may stand in a report as it is.
[[nodiscard]] bool is_report_line(std::string_view text);
/// The events that are written, as they are written.
[[nodiscard]] std::vector<std::string> newest_events(const Report& report);

}  // namespace rudder::steer
