// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/token_bucket.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::transport {
namespace {

constexpr double kRate = 1000;  // bytes per second

[[nodiscard]] double seconds(TimePoint t) {
  return to_seconds(t.time_since_epoch());
}

TEST(TokenBucket, LetsTheBurstPassAtOnceAndDelaysTheRest) {
  FakeClock clock;
  TokenBucket bucket(kRate, 500, clock.now());
  EXPECT_DOUBLE_EQ(seconds(bucket.take(300, clock.now())), 0);
  EXPECT_DOUBLE_EQ(seconds(bucket.take(200, clock.now())), 0);
  EXPECT_DOUBLE_EQ(seconds(bucket.take(100, clock.now())), 0.1);
  EXPECT_DOUBLE_EQ(seconds(bucket.take(400, clock.now())), 0.5);
}

TEST(TokenBucket, DelaysMessagesLargerThanTheBurst) {
  FakeClock clock;
  TokenBucket bucket(kRate, 100, clock.now());
  EXPECT_DOUBLE_EQ(seconds(bucket.take(5'100, clock.now())), 5);
}

TEST(TokenBucket, SavesUpNoMoreThanTheBurst) {
  FakeClock clock;
  TokenBucket bucket(kRate, 100, clock.now());
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(bucket.take(100, clock.now()), clock.now());
  EXPECT_DOUBLE_EQ(to_seconds(bucket.take(50, clock.now()) - clock.now()), 0.05);
}

TEST(TokenBucket, WorksOffItsDebtWhileTimePasses) {
  FakeClock clock;
  TokenBucket bucket(kRate, 0, clock.now());
  EXPECT_DOUBLE_EQ(seconds(bucket.take(1'000, clock.now())), 1);
  clock.advance(std::chrono::milliseconds(600));
  EXPECT_DOUBLE_EQ(seconds(bucket.take(100, clock.now())), 1.1);
}

TEST(TokenBucket, TreatsATimeInThePastAsTheLatestOneSeen) {
  FakeClock clock;
  TokenBucket bucket(kRate, 0, clock.now());
  clock.advance(std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(seconds(bucket.take(1'000, clock.now())), 3);
  EXPECT_DOUBLE_EQ(seconds(bucket.take(1'000, TimePoint{})), 4);
}

// Over any run of takes at non-decreasing times, what passes by time t is at most burst + rate x t.
TEST(TokenBucket, NeverExceedsItsRateBeyondTheBurst) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    CounterRng rng({11, seed});
    FakeClock clock;
    const std::size_t burst = rng.below(2'000);
    TokenBucket bucket(kRate, burst, clock.now());
    double total = 0;
    TimePoint last_paid{};
    for (int i = 0; i < 500; ++i) {
      clock.advance(from_seconds(rng.unit() * 0.4));
      const std::size_t bytes = rng.below(500);
      total += static_cast<double>(bytes);
      const TimePoint paid = bucket.take(bytes, clock.now());
      EXPECT_GE(paid, clock.now());
      EXPECT_GE(paid, last_paid);
      EXPECT_LE(total, static_cast<double>(burst) + kRate * seconds(paid) + 1e-3);
      last_paid = paid;
    }
  }
}

}  // namespace
}  // namespace rudder::transport
