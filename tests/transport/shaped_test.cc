// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>

#include "transport/conformance.h"
#include "transport/timed_queue.h"

namespace rudder::transport {
namespace {

[[nodiscard]] Kind shaped(double bits_per_second, std::size_t burst_bytes) {
  return {"shaped", [=](Rank world) {
            auto ends = make_loopback_transports(world);
            for (auto& end : ends) {
              end = make_shaped_transport(std::move(end), bits_per_second, burst_bytes);
            }
            return ends;
          }};
}

INSTANTIATE_TEST_SUITE_P(Shaped, TransportConformance, testing::Values(shaped(10e9, 65'536)));

constexpr double kRate = 80e6;  // bits per second: 1 MB takes 0.1 s
const std::vector<std::byte> kMegabyte(1'000'000, std::byte{1});

/// Times `work` on fresh fleets until one run takes at most `limit` seconds, five times at most: a loaded
/// machine can only lengthen a run. Returns the shortest.
template <class Work>
[[nodiscard]] double shortest_seconds(Rank world, std::size_t burst_bytes, double limit, Work work) {
  double shortest = 1e9;
  for (int attempt = 0; attempt < 5 && shortest > limit; ++attempt) {
    Fleet fleet(shaped(kRate, burst_bytes), world);
    const TimePoint before = steady_clock().now();
    work(fleet);
    shortest = std::min(shortest, to_seconds(steady_clock().now() - before));
  }
  return shortest;
}

TEST(Shaped, CarriesOneMessageAtItsRate) {
  const double seconds = shortest_seconds(2, 0, 0.11, [](Fleet& fleet) {
    fleet.send(0, 1, {}, kMegabyte);
    fleet.boxes[1]->take(1);
  });
  EXPECT_GE(seconds, 0.0999);
  EXPECT_LE(seconds, 0.11);
}

TEST(Shaped, CarriesManySmallMessagesAtItsRate) {
  const double seconds = shortest_seconds(2, 10'000, 0.11, [](Fleet& fleet) {
    for (int i = 0; i < 500; ++i) {
      fleet.send(0, 1, "header of 20 bytes..", std::span(kMegabyte).first(1'980));
    }
    fleet.boxes[1]->take(500);
  });
  EXPECT_GE(seconds, 0.0989);  // the burst's 10 kB are free
  EXPECT_LE(seconds, 0.11);
}

TEST(Shaped, CarriesBothDirectionsAtOnce) {
  const double seconds = shortest_seconds(2, 0, 0.11, [](Fleet& fleet) {
    fleet.send(0, 1, {}, kMegabyte);
    fleet.send(1, 0, {}, kMegabyte);
    fleet.boxes[1]->take(1);
    fleet.boxes[0]->take(1);
  });
  EXPECT_LE(seconds, 0.11);
}

TEST(Shaped, SharesTheReceiversLinkAmongSenders) {
  const double seconds = shortest_seconds(3, 0, 0.22, [](Fleet& fleet) {
    fleet.send(0, 2, {}, kMegabyte);
    fleet.send(1, 2, {}, kMegabyte);
    fleet.boxes[2]->take(2);
  });
  EXPECT_GE(seconds, 0.1999);
  EXPECT_LE(seconds, 0.22);
}

TEST(Shaped, SharesTheSendersLinkAmongReceivers) {
  const double seconds = shortest_seconds(3, 0, 0.22, [](Fleet& fleet) {
    fleet.send(0, 1, {}, kMegabyte);
    fleet.send(0, 2, {}, kMegabyte);
    fleet.boxes[1]->take(1);
    fleet.boxes[2]->take(1);
  });
  EXPECT_GE(seconds, 0.1999);
  EXPECT_LE(seconds, 0.22);
}

TEST(Shaped, LetsABurstAndMessagesToItselfPassAtOnce) {
  const double seconds = shortest_seconds(2, kMegabyte.size(), 0.05, [](Fleet& fleet) {
    fleet.send(0, 0, {}, kMegabyte);
    fleet.send(0, 0, {}, kMegabyte);
    fleet.send(0, 1, {}, kMegabyte);
    fleet.boxes[0]->take(2);
    fleet.boxes[1]->take(1);
  });
  EXPECT_LE(seconds, 0.05);
}

TEST(Shaped, AFlushThatTimesOutNamesTheReceiver) {
  Fleet fleet(shaped(8'000, 0), 3);
  fleet.send(0, 2, {}, kMegabyte);
  const Status status = fleet.ends[0]->flush(Deadline::in(std::chrono::milliseconds(5)));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Errc::kTimeout);
  EXPECT_THAT(status.error().message, testing::HasSubstr("1 messages not taken by rank 2"));
}

TEST(TimedQueue, HandsItemsOutByTimeAndThenByOrder) {
  TimedQueue<int> queue;
  const TimePoint now = steady_clock().now();
  queue.push(now + std::chrono::milliseconds(3), 4);
  queue.push(now, 1);
  queue.push(now + std::chrono::milliseconds(1), 3);
  queue.push(now, 2);
  for (int expected = 1; expected <= 4; ++expected) {
    EXPECT_EQ(queue.pop(), expected);
  }
  EXPECT_GE(steady_clock().now(), now + std::chrono::milliseconds(3));
  queue.push(now, 5);
  queue.close();
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace rudder::transport
