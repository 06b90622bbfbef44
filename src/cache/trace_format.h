// SPDX-License-Identifier: Apache-2.0
// The trace file, byte by byte. All integers are little-endian.
//
//   magic "RUDTRACE", u32 version
//   sections: u8 kind, u32 rank, u64 count, u64 rows, u64 raw bytes, u64 packed bytes, packed bytes of zlib
//   data 32 bytes: SHA-256 of everything before
//
// | kind    | count    | rows | raw data                                                                    |
// | header  | 0        | 0    | JSON object; always the first section, exactly once                         |
// | degrees | nodes    | 0    | varint in-degree of each node                                               |
// | halo    | nodes    | 0    | ascending ids: varint of the first, then of each gap minus 1                |
// | vip     | values   | 0    | f32                                                                         |
// | batches | batches  | rows | for each batch varint row count, then ids as in halo                        |
// | end     | 0        | 0    | nothing; always the last section                                            |
//
// Arrays and batches of one rank may be cut into several sections, which follow in order (halo ids start anew
// in each); sections of different ranks may interleave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/trace.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache::trace_format {

inline constexpr std::string_view kMagic = "RUDTRACE";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPrefixBytes = 12;
inline constexpr std::size_t kDigestBytes = 32;
inline constexpr std::size_t kSectionBytes = 37;
/// Largest unpacked section; keeps every length in zlib's 32-bit counters.
inline constexpr std::uint64_t kMaxRawBytes = std::uint64_t{1} << 30;
/// Deflate expands one byte to at most 1032.
inline constexpr std::uint64_t kMaxExpansion = 1032;
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{4} << 20;
inline constexpr std::size_t kMaxDigestText = 256;
inline constexpr std::size_t kMaxFanout = 64;
inline constexpr std::size_t kMaxRanks = std::size_t{1} << 16;

enum class Kind : std::uint8_t {
  kHeader = 1,
  kDegrees = 2,
  kHalo = 3,
  kVip = 4,
  kBatches = 5,
  kEnd = 6,
};

struct Section {
  Kind kind = Kind::kEnd;
  Rank rank = 0;
  std::uint64_t count = 0;
  std::uint64_t rows = 0;
  std::uint64_t raw = 0;
  std::uint64_t packed = 0;
};

[[nodiscard]] std::string_view name_of(Kind kind) noexcept;
[[nodiscard]] std::array<std::byte, kSectionBytes> encode_section(const Section& section) noexcept;
/// `bytes` holds kSectionBytes. The kind is not checked.
[[nodiscard]] Section decode_section(std::span<const std::byte> bytes) noexcept;

/// LEB128.
void put_varint(std::string& out, std::uint64_t value);
/// Ids ascending and distinct: the first, then each gap minus 1.
void put_ascending(std::string& out, std::span<const NodeId> ids);

/// Reads what the functions above wrote.
class VarintReader {
 public:
  explicit VarintReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  /// nullopt at the end of the data or when the number does not fit 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> next() noexcept;
  [[nodiscard]] bool at_end() const noexcept { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

[[nodiscard]] Result<std::vector<std::byte>> deflate_bytes(std::string_view raw);
/// Unpacks into `raw`, whose size must be exactly what the data holds.
[[nodiscard]] Status inflate_bytes(std::span<const std::byte> packed, std::span<std::byte> raw);

/// The header without its arrays, as JSON and back.
[[nodiscard]] std::string header_to_json(const TraceHeader& header);
[[nodiscard]] Result<TraceHeader> header_from_json(std::string_view text);

/// Everything a header must meet; empty when it does, otherwise what is wrong.
[[nodiscard]] std::string book_defect(const TraceHeader& header);
[[nodiscard]] std::string arrays_defect(const TraceHeader& header);

/// What keeps `rows` from being a batch of `rank`; empty when nothing does.
[[nodiscard]] std::string rows_defect(const TraceHeader& header, Rank rank, std::span<const NodeId> rows);

}  // namespace rudder::cache::trace_format
