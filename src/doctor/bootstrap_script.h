// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace rudder::doctor {

/// script/bootstrap as it was when the program was built: the only list of packages.
extern const std::string_view kBootstrapScript;

}  // namespace rudder::doctor
