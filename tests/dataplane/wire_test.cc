// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::dataplane {
namespace {

using testing::HasSubstr;

std::vector<NodeId> random_ids(CounterRng& rng, NodeId base, NodeId limit, std::size_t count) {
  std::set<NodeId> ids;
  while (ids.size() < count) {
    ids.insert(base + static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(limit - base))));
  }
  return {ids.begin(), ids.end()};
}

Hello some_hello() {
  Hello hello;
  hello.graph_digest = std::string(64, 'a');
  hello.partition_digest = std::string(64, 'b');
  hello.dtype = "f32";
  hello.row_bytes = 400;
  hello.world = 4;
  hello.rank = 3;
  hello.host = "node17";
  hello.nonce.fill(std::byte{0x5a});
  hello.wire = "bf16";
  hello.topology = "owner";
  return hello;
}

TEST(WireIds, ComeBackAsTheyWere) {
  CounterRng rng({7});
  for (int round = 0; round < 200; ++round) {
    const auto base = static_cast<NodeId>(rng.below(1ULL << 40));
    const NodeId limit = base + 1 + static_cast<NodeId>(rng.below(1ULL << (1 + round % 40)));
    const auto count = static_cast<std::size_t>(
        rng.below(std::min<std::uint64_t>(300, static_cast<std::uint64_t>(limit - base))));
    const auto ids = random_ids(rng, base, limit, count);
    std::vector<std::byte> bytes;
    encode_ids(base, ids, bytes);
    std::vector<NodeId> back = {1, 2, 3};
    const Status status = decode_ids(base, limit, ids.size(), bytes, back);
    ASSERT_TRUE(status.ok()) << "round " << round << ": " << status.error().message;
    EXPECT_EQ(back, ids) << "round " << round;
  }
}

TEST(WireIds, TakeExtremeValues) {
  constexpr NodeId kMax = std::numeric_limits<NodeId>::max();
  const std::vector<NodeId> ids = {0, kMax - 2, kMax - 1};
  std::vector<std::byte> bytes;
  encode_ids(0, ids, bytes);
  EXPECT_EQ(bytes.size(), 1U + kMaxIdBytes + 1U);
  std::vector<NodeId> back;
  ASSERT_TRUE(decode_ids(0, kMax, ids.size(), bytes, back).ok());
  EXPECT_EQ(back, ids);
}

TEST(WireIds, NeighboursTakeOneByteOfZero) {
  const std::vector<NodeId> ids = {100, 101, 102, 230};
  std::vector<std::byte> bytes;
  encode_ids(100, ids, bytes);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{127}}));
}

TEST(WireIds, RefuseLongFormsOfANumber) {
  std::vector<NodeId> out;
  EXPECT_TRUE(decode_ids(0, 200, 1, std::array{std::byte{0x05}}, out).ok());
  EXPECT_FALSE(decode_ids(0, 200, 1, std::array{std::byte{0x85}, std::byte{0x00}}, out).ok());
  EXPECT_TRUE(decode_ids(0, 200, 1, std::array{std::byte{0x85}, std::byte{0x01}}, out).ok());
}

TEST(WireIds, RefuseIdsBeyondTheOwnedRange) {
  std::vector<std::byte> bytes;
  encode_ids(10, std::vector<NodeId>{12, 19, 20}, bytes);
  std::vector<NodeId> out;
  EXPECT_TRUE(decode_ids(10, 21, 3, bytes, out).ok());
  EXPECT_FALSE(decode_ids(10, 20, 3, bytes, out).ok());
  EXPECT_FALSE(decode_ids(10, 10, 3, bytes, out).ok());
  EXPECT_FALSE(decode_ids(10, 5, 3, bytes, out).ok());
}

TEST(WireIds, RefuseOtherCountsAndEveryCut) {
  CounterRng rng({11});
  const auto ids = random_ids(rng, 0, 1 << 20, 100);
  std::vector<std::byte> bytes;
  encode_ids(0, ids, bytes);
  std::vector<NodeId> out;
  EXPECT_FALSE(decode_ids(0, 1 << 20, ids.size() - 1, bytes, out).ok());
  EXPECT_FALSE(decode_ids(0, 1 << 20, ids.size() + 1, bytes, out).ok());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_ids(0, 1 << 20, ids.size(), std::span(bytes).first(cut), out).ok()) << cut;
  }
}

TEST(WireIds, RandomBytesAndCountsNeverGiveMoreThanTheBytesJustify) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CounterRng rng({13, seed});
    std::vector<std::byte> bytes(rng.below(64));
    for (auto& b : bytes) {
      b = static_cast<std::byte>(rng.below(256) & (rng.below(2) == 0 ? 0x7fU : 0xffU));
    }
    const std::size_t count =
        rng.below(2) == 0 ? static_cast<std::size_t>(rng()) : static_cast<std::size_t>(rng.below(64));
    const auto limit = static_cast<NodeId>(rng() >> (1 + rng.below(62)));
    std::vector<NodeId> out;
    const Status status = decode_ids(0, limit, count, bytes, out);
    EXPECT_LE(out.capacity(), bytes.size()) << "seed " << seed;
    if (status.ok()) {
      ASSERT_EQ(out.size(), count) << "seed " << seed;
      EXPECT_TRUE(std::is_sorted(out.begin(), out.end())) << "seed " << seed;
      EXPECT_TRUE(out.empty() || (out.front() >= 0 && out.back() < limit)) << "seed " << seed;
      // What is accepted has one encoding only.
      std::vector<std::byte> again;
      encode_ids(0, out, again);
      EXPECT_EQ(again, bytes) << "seed " << seed;
    }
  }
}

TEST(WireIds, LeaveRoomForTheirPayload) {
  CounterRng rng({17});
  const auto ids = random_ids(rng, 0, 16'000, 650);
  std::vector<std::byte> bytes;
  encode_ids(0, ids, bytes);
  constexpr std::size_t kRowBytes = 400;
  const auto payload = static_cast<double>(ids.size() * kRowBytes);
  const double moved = payload + static_cast<double>(bytes.size() + 2 * kSealedHeaderBytes);
  EXPECT_GE(payload / moved, 0.97);
}

TEST(WireHeader, ComesBackAsItWas) {
  std::array<std::byte, kFrameHeaderBytes> bytes{};
  const FrameHeader header{FrameType::kRows, 200, 0x89abcdefU, 0x0123456789abcdefULL};
  encode_header(header, bytes);
  EXPECT_EQ(bytes[4], std::byte{0xef});  // little-endian
  const auto back = decode_header(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value().type, header.type);
  EXPECT_EQ(back.value().table, header.table);
  EXPECT_EQ(back.value().rows, header.rows);
  EXPECT_EQ(back.value().request, header.request);
}

TEST(WireHeader, RefusesOtherSizesTypesAndReservedBytes) {
  std::array<std::byte, kFrameHeaderBytes + 1> bytes{};
  encode_header(FrameHeader{}, std::span(bytes).first<kFrameHeaderBytes>());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(decode_header(std::span(bytes).first(size)).ok(), size == kFrameHeaderBytes) << size;
  }
  for (unsigned type = 0; type < 256; ++type) {
    bytes[0] = static_cast<std::byte>(type);
    EXPECT_EQ(decode_header(std::span(bytes).first(kFrameHeaderBytes)).ok(), type >= 2 && type <= 9) << type;
  }
  bytes[0] = std::byte{2};
  bytes[3] = std::byte{1};
  EXPECT_FALSE(decode_header(std::span(bytes).first(kFrameHeaderBytes)).ok());
}

TEST(WireHello, ComesBackAsItWas) {
  const Hello hello = some_hello();
  const auto back = decode_hello(encode_hello(hello));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(check_agreement(hello, back.value()).ok());
  EXPECT_EQ(back.value().rank, hello.rank);
  EXPECT_EQ(back.value().host, hello.host);
  EXPECT_EQ(back.value().nonce, hello.nonce);
}

TEST(WireHello, CutsHostNamesThatDoNotFit) {
  Hello hello = some_hello();
  hello.host = std::string(5000, 'h');
  const auto bytes = encode_hello(hello);
  EXPECT_LE(bytes.size(), kMaxHelloBytes);
  ASSERT_TRUE(decode_hello(bytes).ok());
  EXPECT_EQ(decode_hello(bytes).value().host, std::string(255, 'h'));
}

TEST(WireHello, OfAnotherVersionIsRefusedWithBothNumbers) {
  Hello hello = some_hello();
  hello.protocol = 77;
  const auto bytes = encode_hello(hello);
  const auto back = decode_hello(std::span(bytes).first(40));  // another version may hold other fields
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().message, HasSubstr("'77' there, '2' here"));
}

TEST(WireHello, OfAForeignProtocolIsRefusedWithBothStarts) {
  const std::string text = "GET / HTTP/1.1\r\n\r\n";
  const auto back = decode_hello(std::as_bytes(std::span(text)));
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().message, HasSubstr("474554202f204854 there, 5255444445524450 here"));
}

TEST(WireHello, CutsAndFlippedBitsNeverPassUnseen) {
  const auto bytes = encode_hello(some_hello());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_hello(std::span(bytes).first(cut)).ok()) << cut;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_hello(longer).ok());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto back = decode_hello(flipped);
    if (back.ok()) {  // then the flip shows in a field
      EXPECT_EQ(encode_hello(back.value()), flipped) << "bit " << bit;
    }
  }
}

TEST(WireHello, DisagreementsNameTheFieldAndBothValues) {
  const Hello mine = some_hello();
  const auto message = [&](auto change) {
    Hello theirs = some_hello();
    change(theirs);
    const Status status = check_agreement(mine, theirs);
    return status.ok() ? std::string("agree") : status.error().message;
  };
  EXPECT_EQ(message([](Hello& h) { h.rank = 1; }), "agree");
  EXPECT_EQ(message([](Hello& h) { h.protocol = 1; }), "protocol version '1' there, '2' here");
  EXPECT_EQ(message([](Hello& h) { h.graph_digest = "x"; }),
            "graph digest 'x' there, '" + mine.graph_digest + "' here");
  EXPECT_EQ(message([](Hello& h) { h.partition_digest = "y"; }),
            "partition digest 'y' there, '" + mine.partition_digest + "' here");
  EXPECT_EQ(message([](Hello& h) { h.dtype = "f16"; }), "feature type 'f16' there, 'f32' here");
  EXPECT_EQ(message([](Hello& h) { h.row_bytes = 8; }), "bytes of a row '8' there, '400' here");
  EXPECT_EQ(message([](Hello& h) { h.wire = "f16"; }),
            "type of features on the wire 'f16' there, 'bf16' here");
  EXPECT_EQ(message([](Hello& h) { h.topology = "x"; }), "topology 'x' there, 'owner' here");
  EXPECT_EQ(message([](Hello& h) { h.world = 2; }), "number of ranks '2' there, '4' here");
}

}  // namespace
}  // namespace rudder::dataplane
