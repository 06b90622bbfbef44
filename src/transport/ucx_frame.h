// SPDX-License-Identifier: Apache-2.0
// What the UCX transport puts in front of its callers' headers and of UCX's addresses. Little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/transport/transport.h"

namespace rudder::transport {

enum class FrameKind : std::uint8_t {
  kMessage = 1,  ///< the caller's
  kHello = 2,    ///< "I have an endpoint to you", sent by connect()
  kWelcome = 3,  ///< the answer, once there is an endpoint back
};

inline constexpr std::size_t kPrefixBytes = 8;  ///< kind, three zero bytes, sender's rank
inline constexpr std::size_t kFrameBytes = kPrefixBytes + kMaxHeaderBytes;

struct Frame {
  FrameKind kind = FrameKind::kMessage;
  Rank from = 0;
  std::span<const std::byte> header;  ///< inside the decoded bytes
};

/// Writes prefix and header (at most kMaxHeaderBytes), returns the bytes used.
std::size_t encode_frame(const Frame& frame, std::span<std::byte, kFrameBytes> out) noexcept;
/// Takes hostile bytes; nothing unless kind, sizes and a rank below `world` are right.
[[nodiscard]] std::optional<Frame> decode_frame(std::span<const std::byte> bytes, Rank world) noexcept;

/// UCX trusts the bytes of an address, so they travel with marks that tell truncated, foreign and misplaced
/// ones.
[[nodiscard]] std::string encode_address(Rank rank, Rank world, std::string_view ucx_address);
/// UCX's part of the address that rank `rank` of a world of `world` published.
[[nodiscard]] Result<std::string> decode_address(std::string_view address, Rank rank, Rank world);

}  // namespace rudder::transport
