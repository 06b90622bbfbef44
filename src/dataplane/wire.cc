// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/wire.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "rudder/core/check.h"

#include "dataplane/fixed_ints.h"
#include "dataplane/leb128.h"

namespace rudder::dataplane {
namespace {

constexpr std::size_t kMaxString = 255;

void put_text(std::vector<std::byte>& out, std::string_view text) {
  for (const char c : text) {
    out.push_back(static_cast<std::byte>(c));
  }
}

void put_string(std::vector<std::byte>& out, std::string_view text) {
  const std::string_view cut = text.substr(0, kMaxString);
  put_int(out, cut.size(), 1);
  put_text(out, cut);
}

/// Takes fields from the front; after a field that does not fit, everything reads as zero and ok() is false.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::span<const std::byte> take(std::size_t count) {
    if (count > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const auto front = left_.first(count);
    left_ = left_.subspan(count);
    return front;
  }
  std::uint64_t integer(std::size_t bytes) { return get_int(take(bytes)); }
  std::string text() {
    const auto bytes = take(static_cast<std::size_t>(integer(1)));
    std::string out;
    out.reserve(bytes.size());
    for (const std::byte b : bytes) {
      const auto code = std::to_integer<unsigned>(b);
      printable_ = printable_ && code >= 0x20 && code != 0x7f;
      out.push_back(static_cast<char>(b));
    }
    return out;
  }
  [[nodiscard]] bool printable() const { return printable_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
  bool printable_ = true;
};

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  }
  return out;
}

template <class T>
Status differ(std::string_view field, const T& theirs, const T& mine) {
  return Error{Errc::kPeer, fmt::format("{} '{}' there, '{}' here", field, theirs, mine)};
}

}  // namespace

std::vector<std::byte> encode_hello(const Hello& hello) {
  std::vector<std::byte> out;
  put_text(out, {kHelloMagic.data(), kHelloMagic.size()});
  put_int(out, hello.protocol, 4);
  put_int(out, hello.world, 4);
  put_int(out, hello.rank, 4);
  put_int(out, hello.row_bytes, 8);
  put_string(out, hello.graph_digest);
  put_string(out, hello.partition_digest);
  put_string(out, hello.dtype);
  put_string(out, hello.host);
  out.insert(out.end(), hello.nonce.begin(), hello.nonce.end());
  put_string(out, hello.wire);
  put_string(out, hello.topology);
  return out;
}

Result<Hello> decode_hello(std::span<const std::byte> body) {
  if (body.size() > kMaxHelloBytes) {
    return Error{Errc::kInvalidData,
                 fmt::format("hello of {} bytes, at most {} are taken", body.size(), kMaxHelloBytes)};
  }
  FieldReader fields(body);
  const auto magic = fields.take(kHelloMagic.size());
  const auto expected = std::as_bytes(std::span(kHelloMagic));
  if (!std::equal(magic.begin(), magic.end(), expected.begin(), expected.end())) {
    return Error{Errc::kPeer,
                 fmt::format("foreign protocol: starts with {} there, {} here",
                             hex(body.first(std::min(body.size(), kHelloMagic.size()))), hex(expected))};
  }
  Hello hello;
  hello.protocol = static_cast<std::uint32_t>(fields.integer(4));
  if (fields.ok() && hello.protocol != kProtocolVersion) {
    return differ("protocol version", hello.protocol, kProtocolVersion).error();
  }
  hello.world = static_cast<std::uint32_t>(fields.integer(4));
  hello.rank = static_cast<std::uint32_t>(fields.integer(4));
  hello.row_bytes = fields.integer(8);
  hello.graph_digest = fields.text();
  hello.partition_digest = fields.text();
  hello.dtype = fields.text();
  hello.host = fields.text();
  const auto nonce = fields.take(hello.nonce.size());
  hello.wire = fields.text();
  hello.topology = fields.text();
  if (!fields.ok()) {
    return Error{Errc::kInvalidData, fmt::format("hello cut short at {} bytes", body.size())};
  }
  if (fields.left() != 0) {
    return Error{Errc::kInvalidData, fmt::format("{} bytes after the end of a hello", fields.left())};
  }
  if (!fields.printable()) {
    return Error{Errc::kInvalidData, "control characters in a hello"};
  }
  std::copy(nonce.begin(), nonce.end(), hello.nonce.begin());
  return hello;
}

Status check_agreement(const Hello& mine, const Hello& theirs) {
  if (mine.protocol != theirs.protocol) {
    return differ("protocol version", theirs.protocol, mine.protocol);
  }
  if (mine.world != theirs.world) {
    return differ("number of ranks", theirs.world, mine.world);
  }
  if (mine.graph_digest != theirs.graph_digest) {
    return differ("graph digest", theirs.graph_digest, mine.graph_digest);
  }
  if (mine.partition_digest != theirs.partition_digest) {
    return differ("partition digest", theirs.partition_digest, mine.partition_digest);
  }
  if (mine.dtype != theirs.dtype) {
    return differ("feature type", theirs.dtype, mine.dtype);
  }
  if (mine.row_bytes != theirs.row_bytes) {
    return differ("bytes of a row", theirs.row_bytes, mine.row_bytes);
  }
  if (mine.wire != theirs.wire) {
    return differ("type of features on the wire", theirs.wire, mine.wire);
  }
  if (mine.topology != theirs.topology) {
    return differ("topology", theirs.topology, mine.topology);
  }
  return {};
}

Seal compute_seal(const Secret& secret, std::span<const std::byte> from, std::span<const std::byte> to) {
  const Sha256::Digest digest = secret.sign("rudder data plane, version 2", {from, to});
  Seal seal{};
  std::memcpy(seal.data(), digest.data(), seal.size());
  return seal;
}

std::vector<std::byte> encode_proof(const Seal& seal) {
  std::vector<std::byte> out;
  put_text(out, {kProofMagic.data(), kProofMagic.size()});
  out.insert(out.end(), seal.begin(), seal.end());
  return out;
}

std::optional<Seal> decode_proof(std::span<const std::byte> header) noexcept {
  const auto magic = std::as_bytes(std::span(kProofMagic));
  Seal seal{};
  if (header.size() != magic.size() + seal.size() ||
      !std::equal(magic.begin(), magic.end(), header.begin())) {
    return std::nullopt;
  }
  std::copy(header.begin() + magic.size(), header.end(), seal.begin());
  return seal;
}

void encode_header(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) noexcept {
  out[0] = static_cast<std::byte>(header.type);
  out[1] = static_cast<std::byte>(header.table);
  out[2] = out[3] = std::byte{0};
  for (std::size_t i = 0; i < 4; ++i) {
    out[4 + i] = static_cast<std::byte>(header.rows >> (8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    out[8 + i] = static_cast<std::byte>(header.request >> (8 * i));
  }
}

Result<FrameHeader> decode_header(std::span<const std::byte> header) {
  if (header.size() != kFrameHeaderBytes) {
    return Error{Errc::kInvalidData,
                 fmt::format("frame header of {} bytes instead of {}", header.size(), kFrameHeaderBytes)};
  }
  const auto type = std::to_integer<std::uint8_t>(header[0]);
  if (type < static_cast<std::uint8_t>(FrameType::kPull) ||
      type > static_cast<std::uint8_t>(FrameType::kAskRefused)) {
    return Error{Errc::kInvalidData, fmt::format("frame type {}", type)};
  }
  if (header[2] != std::byte{0} || header[3] != std::byte{0}) {
    return Error{Errc::kInvalidData,
                 fmt::format("reserved bytes {} of a frame header", hex(header.subspan(2, 2)))};
  }
  FrameHeader out;
  out.type = static_cast<FrameType>(type);
  out.table = std::to_integer<std::uint8_t>(header[1]);
  out.rows = static_cast<std::uint32_t>(get_int(header.subspan(4, 4)));
  out.request = get_int(header.subspan(8, 8));
  return out;
}

void encode_ids(NodeId base, std::span<const NodeId> ids, std::vector<std::byte>& out) {
  NodeId next = base;
  for (const NodeId id : ids) {
    RUDDER_DCHECK(id >= next, "ids to encode must ascend from the base");
    put_leb128(static_cast<std::uint64_t>(id - next), out);
    next = id + 1;
  }
}

Status decode_ids(NodeId base, NodeId limit, std::size_t count, std::span<const std::byte> bytes,
                  std::vector<NodeId>& out) {
  out.clear();
  if (count > bytes.size()) {
    return Error{Errc::kInvalidData, fmt::format("{} ids in {} bytes", count, bytes.size())};
  }
  out.reserve(count);
  NodeId next = base;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t gap = 0;
    const std::size_t start = at;
    if (!get_leb128(bytes, at, gap)) {
      return Error{Errc::kInvalidData,
                   fmt::format("id {} of {} at byte {} is cut short, too long or not in shortest form", i,
                               count, start)};
    }
    if (next >= limit || gap >= static_cast<std::uint64_t>(limit - next)) {
      return Error{Errc::kInvalidData, fmt::format("id {} of {} lies {} beyond {}, outside of [{}, {})", i,
                                                   count, gap, next, base, limit)};
    }
    next += static_cast<NodeId>(gap);
    out.push_back(next++);
  }
  if (at != bytes.size()) {
    return Error{Errc::kInvalidData,
                 fmt::format("{} bytes after the last of {} ids", bytes.size() - at, count)};
  }
  return {};
}

}  // namespace rudder::dataplane
