// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "rudder/core/result.h"

namespace rudder::graph {

/// Reads a JSON file of at most `limit` bytes whose arrays and objects nest at most 32 deep, so that no
/// parser of it can be driven into deep recursion. Does not check the syntax otherwise.
[[nodiscard]] Result<std::string> read_json_text(const std::filesystem::path& path,
                                                 std::size_t limit = std::size_t{4} << 20);

}  // namespace rudder::graph
