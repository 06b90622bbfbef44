// SPDX-License-Identifier: Apache-2.0
#include "cache/trace_format.h"

#include <algorithm>
#include <exception>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace rudder::cache::trace_format {
namespace {

template <class T>
void put_le(std::byte*& at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    *at++ = static_cast<std::byte>((value >> (8 * i)) & 0xff);
  }
}

template <class T>
T get_le(const std::byte*& at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(*at++) << (8 * i);
  }
  return static_cast<T>(value);
}

/// A number of the JSON header within [0, max].
template <class T>
Status read_number(const nlohmann::json& object, const char* key, T& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return Error{Errc::kInvalidData, fmt::format("key \"{}\": a non-negative integer is missing", key)};
  }
  const auto value = found->get<std::uint64_t>();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
    return Error{Errc::kInvalidData, fmt::format("key \"{}\": {} is too large", key, value)};
  }
  out = static_cast<T>(value);
  return {};
}

template <class T>
Status read_numbers(const nlohmann::json& object, const char* key, std::vector<T>& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) {
    return Error{Errc::kInvalidData, fmt::format("key \"{}\": an array is missing", key)};
  }
  for (const nlohmann::json& element : *found) {
    if (!element.is_number_integer()) {
      return Error{Errc::kInvalidData,
                   fmt::format("key \"{}\": not an integer: {}", key, element.type_name())};
    }
    const auto value = element.get<std::int64_t>();
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      return Error{Errc::kInvalidData, fmt::format("key \"{}\": {} is out of range", key, value)};
    }
    out.push_back(static_cast<T>(value));
  }
  return {};
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kHeader:
      return "header";
    case Kind::kDegrees:
      return "degrees";
    case Kind::kHalo:
      return "halo";
    case Kind::kVip:
      return "vip";
    case Kind::kBatches:
      return "batches";
    case Kind::kEnd:
      return "end";
  }
  return "unknown";
}

std::array<std::byte, kSectionBytes> encode_section(const Section& section) noexcept {
  std::array<std::byte, kSectionBytes> bytes{};
  std::byte* at = bytes.data();
  put_le(at, static_cast<std::uint8_t>(section.kind));
  put_le(at, section.rank);
  put_le(at, section.count);
  put_le(at, section.rows);
  put_le(at, section.raw);
  put_le(at, section.packed);
  return bytes;
}

Section decode_section(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  Section section;
  section.kind = static_cast<Kind>(get_le<std::uint8_t>(at));
  section.rank = get_le<Rank>(at);
  section.count = get_le<std::uint64_t>(at);
  section.rows = get_le<std::uint64_t>(at);
  section.raw = get_le<std::uint64_t>(at);
  section.packed = get_le<std::uint64_t>(at);
  return section;
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void put_ascending(std::string& out, std::span<const NodeId> ids) {
  NodeId previous = -1;
  for (const NodeId id : ids) {
    put_varint(out, static_cast<std::uint64_t>(id - previous - 1));
    previous = id;
  }
}

std::optional<std::uint64_t> VarintReader::next() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) {
      return std::nullopt;
    }
    const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) {
      return std::nullopt;
    }
    value |= bits << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> deflate_bytes(std::string_view raw) {
  if (raw.size() > kMaxRawBytes) {
    return Error{Errc::kUnsupported, fmt::format("a section of {} bytes exceeds the format's limit of {}",
                                                 raw.size(), kMaxRawBytes)};
  }
  uLongf size = ::compressBound(static_cast<uLong>(raw.size()));
  std::vector<std::byte> packed(size);
  const int code =
      ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                  static_cast<uLong>(raw.size()), Z_BEST_SPEED);
  if (code != Z_OK) {
    return Error{code == Z_MEM_ERROR ? Errc::kResource : Errc::kInternal,
                 fmt::format("zlib cannot compress {} bytes: code {}", raw.size(), code)};
  }
  packed.resize(size);
  return packed;
}

Status inflate_bytes(std::span<const std::byte> packed, std::span<std::byte> raw) {
  // One spare byte lets zlib reach the stream's end mark even when no output is expected.
  std::byte spare{};
  uLongf size = static_cast<uLongf>(raw.size());
  uLong consumed = static_cast<uLong>(packed.size());
  Bytef* out = reinterpret_cast<Bytef*>(raw.empty() ? &spare : raw.data());
  const int code = ::uncompress2(out, &size, reinterpret_cast<const Bytef*>(packed.data()), &consumed);
  if (code == Z_MEM_ERROR) {
    return Error{Errc::kResource, "zlib ran out of memory"};
  }
  if (code == Z_BUF_ERROR) {
    return Error{Errc::kInvalidData, fmt::format("does not unpack to the declared {} bytes", raw.size())};
  }
  if (code != Z_OK) {
    return Error{Errc::kInvalidData, fmt::format("is not zlib data (code {})", code)};
  }
  if (size != raw.size() || consumed != packed.size()) {
    return Error{Errc::kInvalidData, fmt::format("unpacks {} of {} bytes to {}, declared {}", consumed,
                                                 packed.size(), size, raw.size())};
  }
  return {};
}

std::string header_to_json(const TraceHeader& header) {
  const nlohmann::json object = {{"partition_digest", header.partition_digest},
                                 {"seed", header.seed},
                                 {"nodes", header.nodes},
                                 {"row_bytes", header.row_bytes},
                                 {"epochs", header.epochs},
                                 {"steps_per_epoch", header.steps_per_epoch},
                                 {"batch", header.batch},
                                 {"fanout", header.fanout},
                                 {"part_offsets", header.part_offsets}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<TraceHeader> header_from_json(std::string_view text) {
  try {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object()) {
      return Error{Errc::kInvalidData, "is not a JSON object"};
    }
    TraceHeader header;
    const auto digest = object.find("partition_digest");
    if (digest == object.end() || !digest->is_string()) {
      return Error{Errc::kInvalidData, "key \"partition_digest\": a string is missing"};
    }
    header.partition_digest = digest->get<std::string>();
    RUDDER_TRY(read_number(object, "seed", header.seed));
    RUDDER_TRY(read_number(object, "nodes", header.nodes));
    RUDDER_TRY(read_number(object, "row_bytes", header.row_bytes));
    RUDDER_TRY(read_number(object, "epochs", header.epochs));
    RUDDER_TRY(read_number(object, "steps_per_epoch", header.steps_per_epoch));
    RUDDER_TRY(read_number(object, "batch", header.batch));
    RUDDER_TRY(read_numbers(object, "fanout", header.fanout));
    RUDDER_TRY(read_numbers(object, "part_offsets", header.part_offsets));
    return header;
  } catch (const std::exception& error) {
    return Error{Errc::kInvalidData, fmt::format("JSON: {}", error.what())};
  }
}

std::string book_defect(const TraceHeader& header) {
  const std::vector<NodeId>& offsets = header.part_offsets;
  if (header.partition_digest.size() > kMaxDigestText) {
    return fmt::format("partition_digest has {} characters, allowed are {}", header.partition_digest.size(),
                       kMaxDigestText);
  }
  if (header.fanout.size() > kMaxFanout) {
    return fmt::format("fanout has {} hops, allowed are {}", header.fanout.size(), kMaxFanout);
  }
  if (header.nodes < 0) {
    return fmt::format("nodes is {}", header.nodes);
  }
  if (offsets.size() < 2 || offsets.size() > kMaxRanks + 1) {
    return fmt::format("part_offsets has {} entries, not 2 to {}", offsets.size(), kMaxRanks + 1);
  }
  if (offsets.front() != 0 || offsets.back() != header.nodes) {
    return fmt::format("part_offsets runs from {} to {}, not from 0 to {}", offsets.front(), offsets.back(),
                       header.nodes);
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      return fmt::format("part_offsets[{}] = {} is below its predecessor {}", i, offsets[i], offsets[i - 1]);
    }
  }
  return {};
}

std::string arrays_defect(const TraceHeader& header) {
  const auto nodes = static_cast<std::size_t>(header.nodes);
  const std::vector<EdgeIndex>& indptr = header.indptr;
  if (!indptr.empty() && indptr.size() != nodes + 1) {
    return fmt::format("indptr has {} entries for {} nodes", indptr.size(), nodes);
  }
  for (std::size_t i = 0; i < indptr.size(); ++i) {
    if (i == 0 ? indptr[0] != 0 : indptr[i] < indptr[i - 1]) {
      return fmt::format("indptr[{}] = {} is out of order", i, indptr[i]);
    }
  }
  if (header.halo.size() != header.ranks()) {
    return fmt::format("halo has {} lists for {} ranks", header.halo.size(), header.ranks());
  }
  for (Rank rank = 0; rank < header.ranks(); ++rank) {
    if (const std::string defect = rows_defect(header, rank, header.halo[rank]); !defect.empty()) {
      return fmt::format("halo of rank {}: {}", rank, defect);
    }
  }
  if (!header.vip.empty() && header.vip.size() != header.ranks()) {
    return fmt::format("vip has {} vectors for {} ranks", header.vip.size(), header.ranks());
  }
  for (std::size_t rank = 0; rank < header.vip.size(); ++rank) {
    if (header.vip[rank].size() != nodes) {
      return fmt::format("vip of rank {} has {} values for {} nodes", rank, header.vip[rank].size(), nodes);
    }
    const auto bad =
        std::ranges::find_if(header.vip[rank], [](float p) { return !(p >= 0.0F && p <= 1.0F); });
    if (bad != header.vip[rank].end()) {
      return fmt::format("vip of rank {}: {} is no probability", rank, static_cast<double>(*bad));
    }
  }
  return {};
}

std::string rows_defect(const TraceHeader& header, Rank rank, std::span<const NodeId> rows) {
  const NodeId own_begin = header.part_offsets[rank];
  const NodeId own_end = header.part_offsets[rank + 1];
  NodeId previous = -1;
  for (const NodeId row : rows) {
    if (row < 0 || row >= header.nodes) {
      return fmt::format("row {} is outside [0, {})", row, header.nodes);
    }
    if (row <= previous) {
      return fmt::format("row {} after {}: not ascending", row, previous);
    }
    if (row >= own_begin && row < own_end) {
      return fmt::format("row {} is the rank's own, in [{}, {})", row, own_begin, own_end);
    }
    previous = row;
  }
  return {};
}

}  // namespace rudder::cache::trace_format
