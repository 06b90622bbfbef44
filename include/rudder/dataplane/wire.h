// SPDX-License-Identifier: Apache-2.0
// Frames between data planes, version 2. Little-endian. Decoders take hostile bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/core/secret.h"

namespace rudder::dataplane {

inline constexpr std::uint32_t kProtocolVersion = 2;

enum class FrameType : std::uint8_t {
  kHello = 1,
  kPull = 2,
  kRows = 3,
  kRefused = 4,
  kPing = 5,
  kPong = 6,
  kAsk = 7,  ///< this one and those after it: sample_wire.h
  kDrawn = 8,
  kAskRefused = 9
};

/// A challenge: the other end must prove that it knows the run's secret now, not that somebody once did.
using Nonce = std::array<std::byte, 32>;

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
  Nonce nonce{};
  std::string wire;      ///< type of the features as they travel
  std::string topology;  ///< replicated, or owner: whether ranks ask each other for structure
};

/// The header of a hello message, and the first bytes of its body; the body's protocol number follows. These
/// twelve bytes keep their meaning in all versions.
inline constexpr std::array<char, 8> kHelloMagic = {'R', 'U', 'D', 'D', 'E', 'R', 'D', 'P'};
/// Longest hello that is sent or taken.
inline constexpr std::size_t kMaxHelloBytes = 2048;

/// Body of a hello. Strings longer than 255 bytes are cut.
[[nodiscard]] std::vector<std::byte> encode_hello(const Hello& hello);
/// Another magic or another protocol number is an error that holds both values. Strings with control
/// characters are refused: they go into messages before anything is proven.
[[nodiscard]] Result<Hello> decode_hello(std::span<const std::byte> body);
/// Names the first field in which two hellos differ, with both values; ok when they agree.
[[nodiscard]] Status check_agreement(const Hello& mine, const Hello& theirs);

/// What only two ranks that know the run's secret can compute from both hellos, one for each direction. It
/// proves the secret (the header of a proof is kProofMagic and the seal; there is no body), and stands behind
/// the header of every later frame, so that nobody else can send one in a rank's name.
inline constexpr std::size_t kSealBytes = 16;
using Seal = std::array<std::byte, kSealBytes>;
inline constexpr std::array<char, 8> kProofMagic = {'R', 'U', 'D', 'D', 'E', 'R', 'P', 'F'};

/// The seal of the rank that sent `from` for what it sends to the rank that sent `to` (bodies of hellos).
[[nodiscard]] Seal compute_seal(const Secret& secret, std::span<const std::byte> from,
                                std::span<const std::byte> to);
[[nodiscard]] std::vector<std::byte> encode_proof(const Seal& seal);
/// Nothing unless the header is that of a proof.
[[nodiscard]] std::optional<Seal> decode_proof(std::span<const std::byte> header) noexcept;

/// Header of all other frames, 16 bytes: type, table, two zero bytes, rows, request.
struct FrameHeader {
  FrameType type = FrameType::kPull;
  std::uint8_t table = 0;  ///< which rows: 0 features, others published by the program (evaluation)
  std::uint32_t rows = 0;
  std::uint64_t request = 0;  ///< chosen by the asker, echoed by the answer
};
inline constexpr std::size_t kFrameHeaderBytes = 16;
/// On the wire the seal follows.
inline constexpr std::size_t kSealedHeaderBytes = kFrameHeaderBytes + kSealBytes;

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
