// SPDX-License-Identifier: Apache-2.0
// Numbers of a fixed number of bytes, low ones first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rudder::dataplane {

inline void put_int(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

/// At most 8 bytes.
[[nodiscard]] inline std::uint64_t get_int(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

}  // namespace rudder::dataplane
