// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx_frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "rudder/core/rng.h"

namespace rudder::transport {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are copied as they are in memory");

constexpr std::array<char, 8> kAddressMark = {'R', 'U', 'D', 'U', 'C', 'X', '0', '1'};

struct AddressHead {
  std::array<char, 8> mark;
  std::uint32_t rank;
  std::uint32_t world;
  std::uint64_t digest;  ///< of rank, world and UCX's bytes: finds damage, does not authenticate
};
static_assert(sizeof(AddressHead) == 24);

[[nodiscard]] std::uint64_t digest_of(Rank rank, Rank world, std::string_view bytes) {
  std::uint64_t digest = stream_key({rank, world, bytes.size()});
  for (const char byte : bytes) {
    digest = mix64(digest ^ static_cast<unsigned char>(byte)) + 1;
  }
  return digest;
}

}  // namespace

std::size_t encode_frame(const Frame& frame, std::span<std::byte, kFrameBytes> out) noexcept {
  std::fill_n(out.begin(), kPrefixBytes, std::byte{0});
  out[0] = static_cast<std::byte>(frame.kind);
  std::memcpy(out.data() + 4, &frame.from, sizeof(frame.from));
  std::copy(frame.header.begin(), frame.header.end(), out.begin() + kPrefixBytes);
  return kPrefixBytes + frame.header.size();
}

std::optional<Frame> decode_frame(std::span<const std::byte> bytes, Rank world) noexcept {
  if (bytes.size() < kPrefixBytes || bytes.size() > kFrameBytes) {
    return std::nullopt;
  }
  Frame frame;
  frame.kind = static_cast<FrameKind>(bytes[0]);
  std::memcpy(&frame.from, bytes.data() + 4, sizeof(frame.from));
  frame.header = bytes.subspan(kPrefixBytes);
  const bool known = frame.kind == FrameKind::kMessage || frame.kind == FrameKind::kHello ||
                     frame.kind == FrameKind::kWelcome;
  const bool padded =
      std::all_of(bytes.begin() + 1, bytes.begin() + 4, [](std::byte byte) { return byte == std::byte{0}; });
  if (!known || !padded || frame.from >= world) {
    return std::nullopt;
  }
  return frame;
}

std::string encode_address(Rank rank, Rank world, std::string_view ucx_address) {
  const AddressHead head{kAddressMark, rank, world, digest_of(rank, world, ucx_address)};
  std::string address(sizeof(head), '\0');
  std::memcpy(address.data(), &head, sizeof(head));
  return address.append(ucx_address);
}

Result<std::string> decode_address(std::string_view address, Rank rank, Rank world) {
  AddressHead head{};
  if (address.size() <= sizeof(head)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("address of rank {}: {} bytes are too few", rank, address.size())};
  }
  std::memcpy(&head, address.data(), sizeof(head));
  if (head.mark != kAddressMark) {
    return Error{Errc::kInvalidArgument, fmt::format("address of rank {}: not one of this transport", rank)};
  }
  const std::string_view rest = address.substr(sizeof(head));
  if (head.digest != digest_of(head.rank, head.world, rest)) {
    return Error{Errc::kInvalidArgument, fmt::format("address of rank {}: damaged or cut off", rank)};
  }
  if (head.rank != rank || head.world != world) {
    return Error{Errc::kInvalidArgument, fmt::format("address of rank {} of {} is that of rank {} of {}",
                                                     rank, world, head.rank, head.world)};
  }
  return std::string(rest);
}

}  // namespace rudder::transport
