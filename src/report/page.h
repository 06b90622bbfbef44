// SPDX-License-Identifier: Apache-2.0
// HTML pages out of templates: {{title}}, {{style}}, {{chart_js}} and {{data}} are their places.
#pragma once

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"

namespace rudder::report {

extern const std::string_view kPageStyle, kDemoPage, kSteerPage;

/// Fills the template's places and writes the page. `data` is read back by the page's script.
[[nodiscard]] Status write_page(const std::filesystem::path& path, std::string_view page,
                                std::string_view title, const nlohmann::ordered_json& data,
                                const std::filesystem::path& chart_js);

}  // namespace rudder::report
