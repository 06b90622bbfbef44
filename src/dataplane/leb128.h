// SPDX-License-Identifier: Apache-2.0
// Numbers of up to 63 bits, seven a byte, low ones first (LEB128).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/dataplane/wire.h"

namespace rudder::dataplane {

inline void put_leb128(std::uint64_t value, std::vector<std::byte>& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}

/// Reads one number of at most 63 bits in its shortest form; false leaves `at` unspecified.
inline bool get_leb128(std::span<const std::byte> bytes, std::size_t& at, std::uint64_t& value) noexcept {
  value = 0;
  for (std::size_t i = 0; i < kMaxIdBytes; ++i) {
    if (at == bytes.size()) {
      return false;
    }
    const auto byte = std::to_integer<std::uint64_t>(bytes[at++]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      return byte != 0 || i == 0;
    }
  }
  return false;
}

}  // namespace rudder::dataplane
