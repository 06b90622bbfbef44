// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "rudder/core/result.h"

namespace rudder {

/// This process runs `program` from now on, with the same id, environment and descriptors. `arguments`: what
/// follows its name. Returns only when that failed, with the reason.
[[nodiscard]] Error replace_program(const std::filesystem::path& program,
                                    std::span<const std::string> arguments);

/// The file that this process runs; empty when the system does not say.
[[nodiscard]] std::filesystem::path this_program();

}  // namespace rudder
