// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace rudder::graph {

/// A node or edge as a place in memory.
[[nodiscard]] constexpr std::size_t at(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

}  // namespace rudder::graph
