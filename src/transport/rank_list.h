// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <fmt/format.h>

#include "rudder/core/ids.h"

namespace rudder::transport {

/// {2} → "rank 2", {2, 5} → "ranks 2, 5".
[[nodiscard]] inline std::string rank_list(std::span<const Rank> ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace rudder::transport
