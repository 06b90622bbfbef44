// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/sample_wire.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::dataplane {
namespace {

using sample::DrawnNeighbors;
using sample::HopRule;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DrawnLimits kLimits{1000, 50};

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (const unsigned value : values) {
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

std::string refusal(std::size_t rows, const std::vector<std::byte>& body,
                    const DrawnLimits& limits = kLimits) {
  DrawnNeighbors out;
  const Status decoded = decode_drawn(limits, rows, body, out);
  return decoded.ok() ? "taken" : decoded.error().message;
}

TEST(SampleWire, AsksReadBackAndHaveTheStatedBytes) {
  std::vector<std::byte> body;
  encode_ask({0x0807060504030201, -1}, 100, std::vector<NodeId>{100, 101, 300}, body);
  EXPECT_EQ(body, bytes({1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 0, 0, 198, 1}));
  HopRule rule;
  std::vector<NodeId> ids;
  ASSERT_TRUE(decode_ask(201, 3, body, rule, ids).ok());
  EXPECT_EQ(rule.stream, 0x0807060504030201U);
  EXPECT_EQ(rule.fanout, -1);
  EXPECT_THAT(ids, ElementsAre(0, 1, 200));
}

TEST(SampleWire, WrongAsksAreRefused) {
  std::vector<std::byte> body;
  encode_ask({7, 10}, 0, std::vector<NodeId>{3, 9}, body);
  HopRule rule;
  std::vector<NodeId> ids;
  const auto message = [&](NodeId limit, std::size_t count, std::span<const std::byte> taken) {
    const Status decoded = decode_ask(limit, count, taken, rule, ids);
    return decoded.ok() ? std::string("taken") : decoded.error().message;
  };
  EXPECT_EQ(message(10, 2, body), "taken");
  EXPECT_THAT(message(9, 2, body), HasSubstr("outside of [0, 9)"));
  EXPECT_THAT(message(10, 3, body), HasSubstr("3 ids in 2 bytes"));
  EXPECT_THAT(message(10, 1, body), HasSubstr("bytes after the last"));
  EXPECT_THAT(message(10, 2, std::span(body).first(11)), HasSubstr("an ask of 11 bytes"));
  body[8] = std::byte{0xfe};
  body[9] = body[10] = body[11] = std::byte{0xff};
  EXPECT_THAT(message(10, 2, body), HasSubstr("a fan-out of -2"));
}

TEST(SampleWire, AnswersReadBackAndHaveTheStatedBytes) {
  std::vector<std::byte> body;
  encode_drawn({{2, 0, 1}, {64, 1, 3}}, body);
  EXPECT_EQ(body, bytes({2, 0, 1, 128, 1, 125, 4}));  // +64, -63, +2
  DrawnNeighbors out{{9}, {8}};
  ASSERT_TRUE(decode_drawn(kLimits, 3, body, out).ok());
  EXPECT_THAT(out.counts, ElementsAre(9, 2, 0, 1)) << "appended";
  EXPECT_THAT(out.ids, ElementsAre(8, 64, 1, 3));
}

TEST(SampleWire, AnswersOfEverySizeReadBack) {
  CounterRng rng({4});
  for (int round = 0; round < 200; ++round) {
    const NodeId nodes = NodeId{1} << (1 + rng.below(55));
    DrawnNeighbors drawn;
    for (std::uint64_t n = 1 + rng.below(20); n > 0; --n) {
      drawn.counts.push_back(static_cast<std::uint32_t>(
          rng.below(std::min<std::uint64_t>(30, static_cast<std::uint64_t>(nodes)))));
      std::set<NodeId> taken;
      while (taken.size() < drawn.counts.back()) {
        const auto id = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes)));
        if (taken.insert(id).second) {
          drawn.ids.push_back(id);
        }
      }
    }
    std::vector<std::byte> body;
    encode_drawn(drawn, body);
    const DrawnLimits limits{nodes, 29};
    EXPECT_LE(body.size(), limits.body_bytes(drawn.counts.size()));
    DrawnNeighbors out;
    const Status decoded = decode_drawn(limits, drawn.counts.size(), body, out);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(out.counts, drawn.counts);
    EXPECT_EQ(out.ids, drawn.ids);
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
      ASSERT_NE(refusal(drawn.counts.size(), {body.begin(), body.begin() + static_cast<std::ptrdiff_t>(cut)},
                        limits),
                "taken");
    }
    body.push_back(std::byte{0});
    EXPECT_THAT(refusal(drawn.counts.size(), body, limits), HasSubstr("1 bytes after the last"));
  }
}

TEST(SampleWire, WrongAnswersAreRefusedWithTheirPlace) {
  EXPECT_THAT(refusal(3, bytes({1, 2})), HasSubstr("3 counts in 2 bytes"));
  EXPECT_THAT(refusal(1, bytes({51})), HasSubstr("51 neighbours of node 0 of 1, at most 50"));
  EXPECT_THAT(refusal(1, bytes({50, 2})), HasSubstr("50 neighbours in 2 bytes"));
  EXPECT_THAT(refusal(2, bytes({1, 128, 0, 2})), HasSubstr("count 1 of 2 at byte 1"));
  EXPECT_THAT(refusal(1, bytes({1, 128, 0})), HasSubstr("neighbour 0 of 1 at byte 1"));
  EXPECT_THAT(refusal(1, bytes({1, 1})), HasSubstr("neighbour 0 of 1 is -1, outside of [0, 1000)"));
  EXPECT_THAT(refusal(1, bytes({1, 0xd0, 0x0f})), HasSubstr("neighbour 0 of 1 is 1000, outside"));
  EXPECT_THAT(refusal(1, bytes({1, 255, 255, 255, 255, 255, 255, 255, 255, 127})), HasSubstr("outside"));
  EXPECT_THAT(refusal(1, bytes({1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})), HasSubstr("too long"));
}

TEST(SampleWire, ANeighbourThatComesTwiceIsRefused) {
  CounterRng rng({12});
  for (const std::size_t count : {2U, 3U, 25U, 64U, 65U, 300U}) {
    for (const bool ascending : {true, false}) {
      std::set<NodeId> taken;
      while (taken.size() < count) {
        taken.insert(static_cast<NodeId>(rng.below(1000)));
      }
      std::vector<NodeId> list(taken.begin(), taken.end());
      for (std::size_t i = list.size() - 1; i > 0 && !ascending; --i) {
        std::swap(list[i], list[rng.below(i + 1)]);
      }
      const auto answer = [&] {
        DrawnNeighbors drawn{{1, static_cast<std::uint32_t>(count)}, {list.front()}};
        drawn.ids.insert(drawn.ids.end(), list.begin(), list.end());
        std::vector<std::byte> body;
        encode_drawn(drawn, body);
        return refusal(2, body, {1000, 300});
      };
      EXPECT_EQ(answer(), "taken") << count << ": two nodes may share a neighbour";
      const std::size_t from = rng.below(count);
      const std::size_t to = (from + 1 + rng.below(count - 1)) % count;
      list[to] = list[from];
      EXPECT_EQ(answer(), "neighbour " + std::to_string(list[from]) + " of node 1 of 2 comes twice") << count;
    }
  }
}

TEST(SampleWire, NoBytesMakeADecoderWriteBeyondItsLimits) {
  CounterRng rng({9});
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> body(rng.below(24));
    for (std::byte& b : body) {
      // Small numbers often, so that whole answers come about.
      b = static_cast<std::byte>(rng.below(2) == 0 ? rng.below(6) : rng.below(256));
    }
    DrawnNeighbors out;
    const std::size_t rows = rng.below(6);
    if (decode_drawn(kLimits, rows, body, out).ok()) {
      EXPECT_EQ(out.counts.size(), rows);
      for (const NodeId id : out.ids) {
        ASSERT_TRUE(id >= 0 && id < kLimits.nodes);
      }
      auto at = out.ids.begin();
      for (const std::uint32_t count : out.counts) {
        ASSERT_EQ(std::set<NodeId>(at, at + count).size(), count);
        at += count;
      }
    }
    EXPECT_LE(out.ids.size(), body.size());
    HopRule rule;
    std::vector<NodeId> ids;
    if (decode_ask(40, rows, body, rule, ids).ok()) {
      EXPECT_TRUE(std::ranges::all_of(ids, [](NodeId id) { return id >= 0 && id < 40; }));
    }
  }
}

TEST(SampleWire, LimitsOfAnAnswerDoNotOverflow) {
  constexpr std::size_t kRows = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ((DrawnLimits{10, 0}).body_bytes(3), 3 * kMaxCountBytes);
  EXPECT_EQ((DrawnLimits{10, 4}).body_bytes(3), 3 * kMaxCountBytes + 12 * kMaxIdBytes);
  EXPECT_EQ((DrawnLimits{10, kMostDrawn}).body_bytes(3), 3 * kMaxCountBytes + kMostDrawn * kMaxIdBytes);
  EXPECT_EQ((DrawnLimits{10, kRows}).body_bytes(kRows), kRows * kMaxCountBytes + kRows * kMaxIdBytes);
}

}  // namespace
}  // namespace rudder::dataplane
