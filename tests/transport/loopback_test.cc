// SPDX-License-Identifier: Apache-2.0
#include "transport/fleet.h"

namespace rudder::transport {
namespace {

INSTANTIATE_TEST_SUITE_P(Loopback, TransportConformance,
                         testing::Values(Kind{"loopback", make_loopback_transports}));

TEST(Loopback, KeepsTheOrderOfEachPair) {
  Fleet fleet({"loopback", make_loopback_transports}, 2);
  constexpr int kCount = 300;
  for (int i = 0; i < kCount; ++i) {
    fleet.send(0, 1, std::to_string(i), pattern(1, i % 2 == 0 ? 100'000 : 1));
  }
  const auto letters = fleet.boxes[1]->take(kCount);
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(as_text(letters[static_cast<std::size_t>(i)].header), std::to_string(i));
  }
}

TEST(Loopback, KeepsMessagesUntilTheReceiverStarts) {
  auto ends = make_loopback_transports(2);
  Mailbox sender;
  Mailbox receiver;
  ASSERT_TRUE(ends[0]->start(sender).ok());
  ends[0]->send(1, as_header("early"), {}, 0, {});
  EXPECT_EQ(ends[0]->flush(Deadline::in({})).error().code, Errc::kTimeout);
  ASSERT_TRUE(ends[1]->start(receiver).ok());
  EXPECT_EQ(as_text(receiver.take(1).at(0).header), "early");
  EXPECT_TRUE(ends[0]->flush(soon()).ok());
  ends.clear();
}

TEST(LoopbackDeathTest, AbortsOnMisuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto ends = make_loopback_transports(1);
  EXPECT_DEATH(ends[0]->send(0, pattern(1, kMaxHeaderBytes + 1), {}, 0, {}), "header too long");
  EXPECT_DEATH(ends[0]->send(1, {}, {}, 0, {}), "no such rank");
  EXPECT_DEATH(ends[0]->send(0, {}, AlignedBytes(3), 4, {}), "body shorter");
}

}  // namespace
}  // namespace rudder::transport
