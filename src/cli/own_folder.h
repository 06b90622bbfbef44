// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "rudder/core/result.h"

namespace rudder::cli {

/// An empty folder for what `command` makes: new, or emptied when an earlier one of the same command made it.
/// Anything else with contents is an error and stays as it is.
[[nodiscard]] Status renew_own_folder(const std::filesystem::path& folder, std::string_view command);

}  // namespace rudder::cli
