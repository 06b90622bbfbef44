// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <latch>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "rudder/core/rng.h"

#include "transport/fleet.h"

namespace rudder::transport {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransportConformance);

TEST_P(TransportConformance, CarriesBodiesOfEverySize) {
  Fleet fleet(GetParam(), 2);
  const std::vector<std::size_t> sizes = {0,    1,    7,      8,      63,      64,        65,
                                          1000, 4095, 8'192,  8'193,  65'535,  65'536,    100'003,
                                          1023, 4096, 16'384, 40'961, 262'145, 1'048'576, 1'048'579};
  for (const std::size_t size : sizes) {
    fleet.send(0, 1, std::to_string(size), pattern(size, size));
  }
  std::set<std::string> seen;
  for (const Letter& letter : fleet.boxes[1]->take(sizes.size())) {
    EXPECT_EQ(letter.from, 0U);
    EXPECT_TRUE(letter.body == pattern(letter.body.size(), letter.body.size())) << letter.body.size();
    EXPECT_EQ(as_text(letter.header), std::to_string(letter.body.size()));
    seen.insert(as_text(letter.header));
  }
  EXPECT_EQ(seen.size(), sizes.size());
  EXPECT_TRUE(fleet.boxes[1]->kept_promises());
}

TEST_P(TransportConformance, CarriesHeadersUpToTheBound) {
  Fleet fleet(GetParam(), 2);
  for (std::size_t size = 0; size <= kMaxHeaderBytes; ++size) {
    fleet.ends[1]->send(0, pattern(size, size), copy_of(pattern(size, size % 3)), size % 3, {});
  }
  std::set<std::size_t> seen;
  for (const Letter& letter : fleet.boxes[0]->take(kMaxHeaderBytes + 1)) {
    const std::size_t size = letter.header.size();
    EXPECT_TRUE(letter.header == pattern(size, size)) << size;
    EXPECT_TRUE(letter.body == pattern(size, size % 3)) << size;
    seen.insert(size);
  }
  EXPECT_EQ(seen.size(), kMaxHeaderBytes + 1);
}

TEST_P(TransportConformance, AnswersFromInsideACallback) {
  Fleet fleet(GetParam(), 2);
  fleet.boxes[1]->on_letter = [&](const Letter& letter) { fleet.send(1, 0, "pong", letter.body); };
  for (std::uint64_t round = 0; round < 200; ++round) {
    const auto body = pattern(round, round * 37);
    fleet.send(0, 1, "ping", body);
    const auto answers = fleet.boxes[0]->take(round + 1);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(as_text(answers[0].header), "pong");
    ASSERT_TRUE(answers[0].body == body) << round;
  }
  EXPECT_TRUE(fleet.boxes[0]->kept_promises());
  EXPECT_TRUE(fleet.boxes[1]->kept_promises());
}

TEST_P(TransportConformance, LosesNothingWhenManyThreadsSend) {
  constexpr Rank kWorld = 3;
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kMessages = 60;
  constexpr std::uint64_t kSeed = 20'240'607;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Fleet fleet(GetParam(), kWorld);
  std::atomic<std::uint64_t> bytes{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < kThreads * kWorld; ++t) {
      threads.emplace_back([&, t] {
        CounterRng rng({kSeed, t});
        for (std::uint64_t i = 0; i < kMessages; ++i) {
          const std::uint64_t key = t * kMessages + i;
          const std::size_t size = rng.below(8) == 0 ? rng.below(200'000) : rng.below(3'000);
          const std::string header = std::to_string(key);
          fleet.send(narrow<Rank>(t % kWorld), narrow<Rank>(key % kWorld), header, pattern(key, size));
          bytes += header.size() + size;
        }
      });
    }
  }
  constexpr std::size_t kEach = kThreads * kMessages;
  std::set<std::uint64_t> seen;
  for (Rank r = 0; r < kWorld; ++r) {
    for (const Letter& letter : fleet.boxes[r]->take(kEach)) {
      const std::uint64_t key = std::stoull(as_text(letter.header));
      EXPECT_EQ(letter.from, key / kMessages % kWorld);
      EXPECT_EQ(r, key % kWorld);
      EXPECT_TRUE(letter.body == pattern(key, letter.body.size())) << key;
      EXPECT_TRUE(seen.insert(key).second) << key << " came twice";
    }
    EXPECT_TRUE(fleet.boxes[r]->kept_promises());
  }
  EXPECT_EQ(seen.size(), kWorld * kEach);
  ASSERT_TRUE(fleet.flush_all().ok());
  TransportCounters sum;
  for (const auto& end : fleet.ends) {
    const TransportCounters counters = end->counters();
    sum.sent_messages += counters.sent_messages;
    sum.sent_bytes += counters.sent_bytes;
    sum.received_messages += counters.received_messages;
    sum.received_bytes += counters.received_bytes;
  }
  EXPECT_EQ(sum.sent_messages, kWorld * kEach);
  EXPECT_EQ(sum.received_messages, kWorld * kEach);
  EXPECT_EQ(sum.sent_bytes, bytes.load());
  EXPECT_EQ(sum.received_bytes, bytes.load());
}

TEST_P(TransportConformance, DiscardsWhatTheReceiverRefuses) {
  Fleet fleet(GetParam(), 2);
  fleet.boxes[1]->refuses = [](Rank, std::span<const std::byte> header) { return as_text(header) == "no"; };
  const auto large = pattern(1, 300'000);
  const auto small = pattern(2, 300);
  for (int i = 0; i < 5; ++i) {
    fleet.send(0, 1, "no", large);
    fleet.send(0, 1, "no", small);
    fleet.send(0, 1, "yes", small);
  }
  for (const Letter& letter : fleet.boxes[1]->take(5)) {
    EXPECT_EQ(as_text(letter.header), "yes");
    EXPECT_TRUE(letter.body == small);
  }
  const Status flushed = fleet.ends[0]->flush(soon());
  EXPECT_TRUE(flushed.ok()) << flushed.error().message;
  fleet.send(0, 1, "yes", large);
  EXPECT_EQ(fleet.boxes[1]->take(6).size(), 1U);
  EXPECT_EQ(fleet.boxes[1]->wait_refused(10), 10U);
}

TEST_P(TransportConformance, SendsToItself) {
  Fleet fleet(GetParam(), 2);
  const auto body = pattern(3, 500'000);
  fleet.send(1, 1, "self", body);
  fleet.send(1, 1, "empty", {});
  const auto letters = fleet.boxes[1]->take(2);
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].from, 1U);
  EXPECT_TRUE(letters[0].body == body);
  EXPECT_EQ(as_text(letters[1].header), "empty");
  EXPECT_TRUE(fleet.boxes[1]->kept_promises());
}

TEST_P(TransportConformance, GivesBodiesBackBeforeFlushReturns) {
  Fleet fleet(GetParam(), 3);
  std::mutex mutex;
  std::set<const std::byte*> sent;
  std::set<const std::byte*> back;
  std::vector<AlignedBytes> kept;  // keeps addresses taken, so that no later body gets the same one
  std::set<std::thread::id> threads;
  for (std::uint64_t i = 0; i < 40; ++i) {
    AlignedBytes body = copy_of(pattern(i, 1 + i * 5'000));
    sent.insert(body.data());
    const std::size_t size = body.size();
    fleet.ends[0]->send(narrow<Rank>(i % 3), as_header("x"), std::move(body), size, [&](AlignedBytes memory) {
      const std::lock_guard lock(mutex);
      back.insert(memory.data());
      threads.insert(std::this_thread::get_id());
      kept.push_back(std::move(memory));
    });
  }
  const Status flushed = fleet.ends[0]->flush(soon());
  ASSERT_TRUE(flushed.ok()) << flushed.error().message;
  const std::lock_guard lock(mutex);
  EXPECT_EQ(back, sent);
  EXPECT_EQ(threads.size(), 1U);
}

TEST_P(TransportConformance, ReportsAPeerThatLeavesAndDropsWhatIsSentToIt) {
  Fleet fleet(GetParam(), 3);
  fleet.send(1, 0, "last words", pattern(1, 10));
  EXPECT_EQ(fleet.boxes[0]->take(1).size(), 1U);
  fleet.ends[1].reset();
  const auto error = fleet.boxes[0]->wait_failed(1, soon());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, Errc::kPeer);
  EXPECT_THAT(error->message, testing::HasSubstr("rank 1"));
  std::latch back(2);
  for (const std::size_t size : {std::size_t{10}, std::size_t{1'000'000}}) {
    fleet.ends[0]->send(1, as_header("lost"), AlignedBytes(size), size,
                        [&](AlignedBytes) { back.count_down(); });
  }
  back.wait();
  EXPECT_TRUE(fleet.ends[0]->flush(soon()).ok());
  fleet.send(0, 2, "still here", {});
  fleet.send(2, 0, "so am I", {});
  EXPECT_EQ(fleet.boxes[2]->take(1).size(), 1U);
  EXPECT_EQ(fleet.boxes[0]->take(2).size(), 1U);
  EXPECT_FALSE(fleet.boxes[0]->wait_failed(2, Deadline::in({})).has_value());
  EXPECT_TRUE(fleet.boxes[0]->kept_promises());
}

TEST_P(TransportConformance, EndsWithMessagesStillQueued) {
  Fleet fleet(GetParam(), 2);
  const auto body = pattern(1, 1'000'000);
  for (int i = 0; i < 20; ++i) {
    fleet.send(0, 1, "x", body);
    fleet.send(1, 0, "x", body);
  }
  const TimePoint before = steady_clock().now();
  fleet.ends.clear();
  EXPECT_LT(to_seconds(steady_clock().now() - before), 10);
}

TEST_P(TransportConformance, NamesTheRanksThatDoNotConnect) {
  auto ends = GetParam().make(3);
  std::vector<std::string> addresses;
  for (const auto& end : ends) {
    addresses.push_back(end->address());
  }
  Mailbox box;
  ASSERT_TRUE(ends[0]->start(box).ok());
  const Status status = ends[0]->connect(addresses, Deadline::in(std::chrono::milliseconds(50)));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Errc::kTimeout);
  EXPECT_THAT(status.error().message, testing::HasSubstr("ranks 1, 2"));
  ends.clear();
}

TEST_P(TransportConformance, RejectsAddressesOfOtherRanks) {
  auto ends = GetParam().make(2);
  Mailbox box;
  ASSERT_TRUE(ends[0]->start(box).ok());
  const auto connect = [&](const std::vector<std::string>& addresses) {
    const Status status = ends[0]->connect(addresses, soon());
    return status.ok() ? Errc::kInternal : status.error().code;
  };
  EXPECT_EQ(connect({ends[0]->address()}), Errc::kInvalidArgument);
  EXPECT_EQ(connect({ends[1]->address(), ends[0]->address()}), Errc::kInvalidArgument);
  EXPECT_EQ(connect({ends[0]->address(), ""}), Errc::kInvalidArgument);
  EXPECT_EQ(connect({ends[0]->address(), std::string(500, 'x')}), Errc::kInvalidArgument);
  ends.clear();
}

TEST_P(TransportConformance, StartsOnlyOnceAndBeforeConnecting) {
  auto ends = GetParam().make(1);
  Mailbox box;
  const std::vector<std::string> addresses = {ends[0]->address()};
  EXPECT_FALSE(ends[0]->connect(addresses, soon()).ok());
  ASSERT_TRUE(ends[0]->start(box).ok());
  EXPECT_FALSE(ends[0]->start(box).ok());
  EXPECT_TRUE(ends[0]->connect(addresses, soon()).ok());
  ends.clear();
}

}  // namespace rudder::transport
