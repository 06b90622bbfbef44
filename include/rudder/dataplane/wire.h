// SPDX-License-Identifier: Apache-2.0
// Frames between data planes, version 1. Little-endian. Decoders take hostile bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::dataplane {

inline constexpr std::uint32_t kProtocolVersion = 1;

enum class FrameType : std::uint8_t { kHello = 1, kPull = 2, kRows = 3, kRefused = 4, kPing = 5, kPong = 6 };

/// What both ends must agree on before rows move.
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string graph_digest;
  std::string partition_digest;
  std::string dtype;
  std::uint64_t row_bytes = 0;
  std::uint32_t world = 0;
  std::uint32_t rank = 0;
  std::string host;
};

/// The header of a hello message, and the first bytes of its body; the body's protocol number follows. These
/// twelve bytes keep their meaning in all versions.
inline constexpr std::array<char, 8> kHelloMagic = {'R', 'U', 'D', 'D', 'E', 'R', 'D', 'P'};
/// Longest hello that is sent or taken.
inline constexpr std::size_t kMaxHelloBytes = 2048;

/// Body of a kHello message. Strings longer than 255 bytes are cut.
[[nodiscard]] std::vector<std::byte> encode_hello(const Hello& hello);
/// Another magic or another protocol number is an error that holds both values.
[[nodiscard]] Result<Hello> decode_hello(std::span<const std::byte> body);
/// Names the first field in which two hellos differ, with both values; ok when they agree.
[[nodiscard]] Status check_agreement(const Hello& mine, const Hello& theirs);

/// Header of all other frames, 16 bytes: type, table, two zero bytes, rows, request.
struct FrameHeader {
  FrameType type = FrameType::kPull;
  std::uint8_t table = 0;  ///< which rows: 0 features, others published by the program (evaluation)
  std::uint32_t rows = 0;
  std::uint64_t request = 0;  ///< chosen by the asker, echoed by the answer
};
inline constexpr std::size_t kFrameHeaderBytes = 16;

/// Longest text of a refusal (the body of a kRefused frame).
inline constexpr std::size_t kMaxReasonBytes = 512;

void encode_header(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) noexcept;
[[nodiscard]] Result<FrameHeader> decode_header(std::span<const std::byte> header);

/// Bytes of one encoded id at most (63 bits, seven a byte).
inline constexpr std::size_t kMaxIdBytes = 9;

/// Ascending ids relative to `base` as LEB128 deltas: the first minus base, then gaps minus one. Appends to
/// `out`. The ids must be distinct, ascending and not below `base`. O(ids).
void encode_ids(NodeId base, std::span<const NodeId> ids, std::vector<std::byte>& out);
/// Exactly `count` ids in [base, limit), ascending and distinct, each in its shortest form, using all bytes;
/// anything else is an error. Replaces `out`; allocates at most one id a byte. O(bytes).
[[nodiscard]] Status decode_ids(NodeId base, NodeId limit, std::size_t count,
                                std::span<const std::byte> bytes, std::vector<NodeId>& out);

}  // namespace rudder::dataplane
