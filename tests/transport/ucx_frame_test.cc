// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::transport {
namespace {

TEST(UcxFrame, ComesBackAsItWent) {
  std::array<std::byte, kFrameBytes> bytes{};
  const std::array<std::byte, 3> header = {std::byte{7}, std::byte{0}, std::byte{255}};
  const std::size_t size = encode_frame({FrameKind::kMessage, 70'000, header}, bytes);
  EXPECT_EQ(size, kPrefixBytes + header.size());
  const auto frame = decode_frame(std::span(bytes).first(size), 70'001);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, FrameKind::kMessage);
  EXPECT_EQ(frame->from, 70'000U);
  EXPECT_THAT(frame->header, testing::ElementsAreArray(header));
}

TEST(UcxFrame, RejectsRanksOutsideTheWorldUnknownKindsAndWrongSizes) {
  std::array<std::byte, kFrameBytes> bytes{};
  encode_frame({FrameKind::kWelcome, 3, {}}, bytes);
  const std::span<const std::byte> good = std::span(bytes).first(kPrefixBytes);
  EXPECT_TRUE(decode_frame(good, 4).has_value());
  EXPECT_FALSE(decode_frame(good, 3).has_value());
  EXPECT_FALSE(decode_frame(good.first(kPrefixBytes - 1), 4).has_value());
  EXPECT_FALSE(decode_frame({}, 4).has_value());
  const std::vector<std::byte> large(kFrameBytes + 1, std::byte{1});
  EXPECT_FALSE(decode_frame(large, 4).has_value());
  for (const std::size_t at : {0U, 1U, 3U}) {
    auto damaged = bytes;
    damaged[at] = std::byte{9};
    EXPECT_FALSE(decode_frame(std::span(damaged).first(kPrefixBytes), 4).has_value()) << at;
  }
}

TEST(UcxAddress, ComesBackAsItWent) {
  const std::string inner("\0any bytes\xff", 11);
  const auto back = decode_address(encode_address(2, 5, inner), 2, 5);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), inner);
}

TEST(UcxAddress, NamesBothRanksOfAMisplacedOne) {
  const auto back = decode_address(encode_address(2, 5, "inner"), 3, 5);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().message, "address of rank 3 of 5 is that of rank 2 of 5");
  EXPECT_FALSE(decode_address(encode_address(2, 5, "inner"), 2, 6).ok());
}

TEST(UcxAddress, RejectsEveryTruncationAndEverySingleChangedByte) {
  const std::string good = encode_address(1, 3, "some address");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_address(std::string_view(good).substr(0, size), 1, 3).ok()) << size;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_FALSE(decode_address(damaged, 1, 3).ok()) << at;
  }
}

}  // namespace
}  // namespace rudder::transport
