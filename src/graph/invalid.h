// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <fmt/core.h>

#include "rudder/core/result.h"

namespace rudder::graph {

/// kInvalidData "WHERE: WHAT".
[[nodiscard]] inline Error invalid(std::string_view where, std::string_view what) {
  return {Errc::kInvalidData, fmt::format("{}: {}", where, what)};
}

}  // namespace rudder::graph
