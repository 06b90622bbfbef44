// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/rendezvous.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/fleet.h"

namespace rudder::transport {
namespace {

TEST(LocalRendezvous, GetWaitsForPut) {
  const auto store = std::make_shared<LocalRendezvous>();
  std::jthread putter([&] { EXPECT_TRUE(store->put("key", std::string("a\0b", 3)).ok()); });
  const auto value = store->get("key", soon());
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.value(), std::string("a\0b", 3));
}

TEST(LocalRendezvous, ATimeoutNamesTheKey) {
  const auto store = std::make_shared<LocalRendezvous>();
  const auto value = store->get("ports/7", Deadline::in(std::chrono::milliseconds(1)));
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code, Errc::kTimeout);
  EXPECT_THAT(value.error().message, testing::HasSubstr("ports/7"));
}

TEST(LocalRendezvous, TheLastPutCounts) {
  const auto store = std::make_shared<LocalRendezvous>();
  EXPECT_TRUE(store->put("key", "old").ok());
  EXPECT_TRUE(store->put("key", "new").ok());
  EXPECT_EQ(store->get("key", soon()).value(), "new");
}

TEST(LocalRendezvous, AFailureEndsWaitsButLosesNoValue) {
  LocalRendezvous store;
  EXPECT_TRUE(store.put("there", "value").ok());
  std::jthread failing([&] {
    store.fail({Errc::kPeer, "rank 2 has died"});
    store.fail({Errc::kPeer, "rank 0 noticed"});
  });
  const auto value = store.get("never put", soon());
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().message, "rank 2 has died");
  EXPECT_EQ(store.get("there", soon()).value(), "value");
}

TEST(Exchange, CollectsEverybodysValueInRankOrder) {
  const auto store = std::make_shared<LocalRendezvous>();
  std::vector<std::jthread> ranks;
  for (Rank rank = 0; rank < 5; ++rank) {
    ranks.emplace_back([&store, rank] {
      const auto values = exchange(*store, "address", rank, 5, "value " + std::to_string(rank), soon());
      ASSERT_TRUE(values.ok()) << values.error().message;
      EXPECT_THAT(values.value(),
                  testing::ElementsAre("value 0", "value 1", "value 2", "value 3", "value 4"));
    });
  }
}

TEST(Exchange, ATimeoutNamesAllMissingRanks) {
  const auto store = std::make_shared<LocalRendezvous>();
  ASSERT_TRUE(store->put("hello/2", "here").ok());
  const auto values = exchange(*store, "hello", 0, 4, "me", Deadline::in(std::chrono::milliseconds(5)));
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code, Errc::kTimeout);
  EXPECT_EQ(values.error().message, "exchange of 'hello': no word from ranks 1, 3");
}

TEST(Exchange, RejectsARankOutsideTheWorld) {
  const auto store = std::make_shared<LocalRendezvous>();
  EXPECT_EQ(exchange(*store, "hello", 4, 4, "me", soon()).error().code, Errc::kInvalidArgument);
}

TEST(Exchange, PassesOtherErrorsOnAtOnce) {
  class Broken final : public Rendezvous {
   public:
    Status put(std::string_view, std::string_view) override { return {}; }
    Result<std::string> get(std::string_view, Deadline) override {
      return Error{Errc::kPeer, "the store is gone"};
    }
  };
  Broken store;
  const auto values = exchange(store, "hello", 0, 2, "me", soon());
  EXPECT_EQ(values.error().code, Errc::kPeer);
  EXPECT_THAT(values.error().message, testing::HasSubstr("the store is gone"));
}

/// A store that goes with the process that keeps it.
class MortalStore final : public Rendezvous {
 public:
  Status put(std::string_view key, std::string_view value) override {
    return gone_ ? Status(Error{Errc::kPeer, "the store is gone"}) : store_.put(key, value);
  }
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    auto value = store_.get(key, deadline);
    return gone_ ? Result<std::string>(Error{Errc::kPeer, "the store is gone"}) : std::move(value);
  }
  void die() { gone_ = true; }

 private:
  LocalRendezvous store_;
  std::atomic<bool> gone_ = false;
};

TEST(Part, TheStoresKeeperLeavesLast) {
  for (int round = 0; round < 200; ++round) {
    MortalStore store;
    std::vector<std::thread> ranks;
    for (Rank rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&, rank] {
        const Status parted = part(store, "end", rank, 4, Deadline::in(from_seconds(30)));
        EXPECT_TRUE(parted.ok()) << parted.error().message;
        if (rank == 0) {
          store.die();
        }
      });
    }
    for (std::thread& rank : ranks) {
      rank.join();
    }
  }
}

TEST(Part, ATimeoutNamesWhoIsMissing) {
  LocalRendezvous store;
  const Status parted = part(store, "end", 0, 3, Deadline::in(from_seconds(0.01)));
  ASSERT_FALSE(parted.ok());
  EXPECT_THAT(parted.error().message, testing::HasSubstr("no word from ranks 1, 2"));
}

}  // namespace
}  // namespace rudder::transport
