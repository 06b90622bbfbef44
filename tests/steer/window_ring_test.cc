// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/window_ring.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::window_at;

std::vector<std::uint64_t> taken(WindowRing& ring) {
  std::vector<std::uint64_t> sequences;
  for (Window window; ring.take(window);) {
    EXPECT_EQ(window, window_at(window.sequence));
    sequences.push_back(window.sequence);
  }
  return sequences;
}

TEST(WindowRingTest, HandsWindowsOverInOrder) {
  WindowRing ring(4);
  EXPECT_THAT(taken(ring), IsEmpty());
  for (std::uint64_t i = 0; i < 3; ++i) {
    ring.push(window_at(i));
  }
  EXPECT_THAT(taken(ring), ElementsAre(0, 1, 2));
  EXPECT_EQ(ring.dropped(), 0U);
}

TEST(WindowRingTest, DropsTheOldestWhenFullAndCountsThem) {
  WindowRing ring(3);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ring.push(window_at(i));
  }
  EXPECT_EQ(ring.dropped(), 7U);
  EXPECT_THAT(taken(ring), ElementsAre(7, 8, 9));
  ring.push(window_at(10));
  EXPECT_THAT(taken(ring), ElementsAre(10));
  EXPECT_EQ(ring.dropped(), 7U);
}

TEST(WindowRingTest, HoldsOneWindowAtLeast) {
  WindowRing ring(0);
  ring.push(window_at(0));
  ring.push(window_at(1));
  EXPECT_THAT(taken(ring), ElementsAre(1));
}

TEST(WindowRingTest, WaitsNoLongerThanItsPatience) {
  WindowRing ring(2);
  Window window;
  EXPECT_FALSE(ring.wait(window, from_seconds(0.01)));
  for (std::uint64_t i = 0; i < 5; ++i) {
    ring.push(window_at(i));  // arrivals that were dropped wake it up for nothing
  }
  EXPECT_TRUE(ring.wait(window, from_seconds(10)));
  EXPECT_EQ(window.sequence, 3U);
  EXPECT_TRUE(ring.wait(window, from_seconds(10)));
  EXPECT_FALSE(ring.wait(window, from_seconds(0.01)));
}

TEST(WindowRingTest, TakesAnyPatience) {
  WindowRing ring(2);
  Window window;
  EXPECT_FALSE(ring.wait(window, Duration::min()));
  ring.push(window_at(0));
  EXPECT_TRUE(ring.wait(window, Duration::max()));
}

TEST(WindowRingTest, EndsItsWaitsWhenStopped) {
  WindowRing ring(2);
  ring.push(window_at(0));
  std::atomic<bool> ended{false};
  std::thread waiter([&] {
    Window window;
    while (ring.wait(window, from_seconds(60))) {
    }
    ended = true;
  });
  ring.stop();
  waiter.join();
  EXPECT_TRUE(ended);
  Window window;
  EXPECT_FALSE(ring.wait(window, from_seconds(60)));
}

/// A pusher and a taker at full speed: nothing is torn, reordered, lost without being counted, or had twice.
TEST(WindowRingTest, LosesNothingUncountedBetweenThreads) {
  constexpr std::uint64_t kWindows = 30'000;
  for (const std::size_t capacity : {1U, 2U, 16U}) {
    WindowRing ring(capacity);
    std::uint64_t received = 0;
    std::uint64_t last = 0;
    std::thread taker([&] {
      Window window;
      while (last + 1 < kWindows && ring.wait(window, from_seconds(60))) {
        EXPECT_EQ(window, window_at(window.sequence));
        EXPECT_TRUE(received == 0 || window.sequence > last);
        last = window.sequence;
        ++received;
      }
    });
    for (std::uint64_t i = 0; i < kWindows; ++i) {
      ring.push(window_at(i));
    }
    taker.join();
    EXPECT_EQ(last, kWindows - 1);
    EXPECT_EQ(received + ring.dropped(), kWindows);
  }
}

}  // namespace
}  // namespace rudder::steer
