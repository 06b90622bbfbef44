// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace rudder::report {

/// demo_page.html with the places {{title}}, {{chart_js}} and {{data}} still open.
extern const std::string_view kDemoPage;

}  // namespace rudder::report
