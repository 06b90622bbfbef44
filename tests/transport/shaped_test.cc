// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "transport/fleet.h"
#include "transport/timed_queue.h"

namespace rudder::transport {
namespace {

INSTANTIATE_TEST_SUITE_P(Shaped, TransportConformance, testing::Values(shaped_loopback(10e9, 65'536)));

TEST(Shaped, AFlushThatTimesOutNamesTheReceiver) {
  Fleet fleet(shaped_loopback(8'000, 0), 3);
  fleet.send(0, 2, {}, pattern(1, 1'000'000));
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
