// SPDX-License-Identifier: Apache-2.0
#include "train/collective.h"

#include <bit>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/rng.h"
#include "rudder/launch/rank_env.h"
#include "rudder/transport/rendezvous.h"

#include "train/address.h"
#include "train/listener.h"

namespace rudder::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::Listener;

const Duration kPatience = from_seconds(20);

using RankBody = std::function<void(Collective&)>;

/// Runs `body` on a thread for every rank.
void run_threads(Rank world, const RankBody& body) {
  const auto local_rendezvous = std::make_shared<transport::LocalRendezvous>();
  transport::Rendezvous& rendezvous = *local_rendezvous;
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      auto collective = make_collective({.rank = rank, .world = world, .host = "h"}, rendezvous, kPatience);
      ASSERT_TRUE(collective.ok()) << collective.error().message;
      body(**collective);
    });
  }
}

std::vector<float> values_of(Rank rank, std::size_t count) {
  CounterRng rng({7, rank});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(rng.unit() - 0.5);
  }
  return values;
}

std::uint64_t fold_bits(std::span<const float> values) {
  std::uint64_t folded = 1;
  for (const float value : values) {
    folded = mix64(folded ^ std::bit_cast<std::uint32_t>(value));
  }
  return folded;
}

/// The bits of a sum over `world` ranks, made of overlapping buckets.
std::uint64_t summed_bits(Collective& collective) {
  std::vector<float> first = values_of(collective.rank(), 10007);
  std::vector<float> second = values_of(collective.rank() + 100, 513);
  EXPECT_TRUE(collective.start_sum(first).ok());
  EXPECT_TRUE(collective.start_sum(second).ok());
  const Status done = collective.finish_sums();
  EXPECT_TRUE(done.ok()) << done.error().message;
  return fold_bits(first) ^ fold_bits(second);
}

class CollectiveOf : public ::testing::TestWithParam<Rank> {};

TEST_P(CollectiveOf, SumsFloatsDoublesAndIntegersOfAllRanks) {
  const Rank world = GetParam();
  run_threads(world, [world](Collective& collective) {
    const Rank rank = collective.rank();
    std::vector<float> floats(1000, static_cast<float>(rank + 1));
    ASSERT_TRUE(collective.start_sum(floats).ok());
    ASSERT_TRUE(collective.finish_sums().ok());
    std::vector<double> doubles = {0.5 * rank, 1};
    ASSERT_TRUE(collective.sum(doubles).ok());
    std::vector<std::uint64_t> counts = {std::uint64_t{1} << 40, rank};
    ASSERT_TRUE(collective.sum(counts).ok());
    std::vector<std::uint64_t> largest = {rank, 7};
    ASSERT_TRUE(collective.max(largest).ok());
    const Rank triangle = world * (world - 1) / 2;
    EXPECT_THAT(floats, ::testing::Each(static_cast<float>(triangle + world)));
    EXPECT_THAT(doubles, ::testing::ElementsAre(0.5 * triangle, world));
    EXPECT_THAT(counts, ::testing::ElementsAre(std::uint64_t{world} << 40, triangle));
    EXPECT_THAT(largest, ::testing::ElementsAre(world - 1, 7));
    EXPECT_TRUE(collective.barrier().ok());
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, CollectiveOf, ::testing::Values(1, 2, 3, 4));

TEST(Collective, GivesAllRanksTheSameBitsEveryTime) {
  std::vector<std::uint64_t> once(3);
  std::vector<std::uint64_t> again(3);
  run_threads(3, [&](Collective& collective) { once[collective.rank()] = summed_bits(collective); });
  run_threads(3, [&](Collective& collective) { again[collective.rank()] = summed_bits(collective); });
  EXPECT_EQ(once[1], once[0]);
  EXPECT_EQ(once[2], once[0]);
  EXPECT_EQ(again, once);
}

/// Rank `rank` of two as a process of its own; exit code 0 when its sum has the bits `expected`.
pid_t fork_rank(Rank rank, std::uint16_t port, std::uint64_t expected) {
  const pid_t child = ::fork();
  if (child != 0) {
    return child;
  }
  const RankInfo who{
      .rank = rank, .world = 2, .master_address = "127.0.0.1", .master_port = port, .host = "h"};
  auto rendezvous = make_tcp_rendezvous(who, kPatience);
  if (!rendezvous.ok()) {
    ::_exit(2);
  }
  auto collective = make_collective(who, **rendezvous, kPatience);
  if (!collective.ok()) {
    ::_exit(3);
  }
  const bool same = summed_bits(**collective) == expected;
  const bool together = (*collective)->barrier().ok();
  ::_exit(same && together ? 0 : 4);
}

TEST(Collective, GivesProcessesTheBitsThatThreadsGet) {
  std::uint64_t expected = 0;
  const std::uint16_t port = launch::free_port().value();
  run_threads(2, [&](Collective& collective) {
    const std::uint64_t bits = summed_bits(collective);
    if (collective.rank() == 0) {
      expected = bits;
    }
  });
  const std::vector<pid_t> children = {fork_rank(0, port, expected), fork_rank(1, port, expected)};
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(Collective, FailsWhenAPeerLeaves) {
  run_threads(2, [](Collective& collective) {
    if (collective.rank() == 1) {
      return;
    }
    std::vector<float> values(100000, 1.0F);
    Status status = collective.start_sum(values);
    if (status.ok()) {
      status = collective.finish_sums();
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Errc::kPeer);
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("rank 0"), HasSubstr("gradient sum over 2 ranks")));
  });
}

TEST(Collective, TimesOutWhenAPeerNeverComes) {
  const auto local_rendezvous = std::make_shared<transport::LocalRendezvous>();
  transport::Rendezvous& rendezvous = *local_rendezvous;
  auto collective = make_collective({.rank = 0, .world = 2, .host = "h"}, rendezvous, from_seconds(0.3));
  ASSERT_FALSE(collective.ok());
  EXPECT_THAT(collective.error().message, HasSubstr("rank 0 cannot connect to the other 1 ranks"));
}

/// Rank 0's error when rank 1 is there but never takes part.
Error error_of_lonely_sum(Duration deadline, const std::function<Status()>& check) {
  const auto local_rendezvous = std::make_shared<transport::LocalRendezvous>();
  transport::Rendezvous& rendezvous = *local_rendezvous;
  std::latch done(1);
  std::jthread other([&] {
    auto collective = make_collective({.rank = 1, .world = 2, .host = "h"}, rendezvous, kPatience);
    ASSERT_TRUE(collective.ok()) << collective.error().message;
    done.wait();
  });
  auto collective = make_collective({.rank = 0, .world = 2, .host = "h"}, rendezvous, deadline);
  EXPECT_TRUE(collective.ok()) << collective.error().message;
  (*collective)->set_peer_check(check);
  std::vector<double> values = {1};
  const Status status = (*collective)->sum(values);
  EXPECT_FALSE(status.ok());
  collective->reset();  // must not wait for the sum that is still under way
  done.count_down();
  return status.ok() ? Error{} : status.error();
}

TEST(Collective, EndsAWaitAtTheDeadlineWithoutAPeerCheck) {
  const Error error = error_of_lonely_sum(from_seconds(0.2), {});
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_THAT(error.message, HasSubstr("rank 0: sum over 2 ranks: some rank did not take part in time"));
}

TEST(Collective, GoesOnWaitingWhileThePeersAreThere) {
  int asked = 0;
  const Error error = error_of_lonely_sum(from_seconds(0.05), [&]() -> Status {
    return ++asked < 3 ? Status() : Error{Errc::kPeer, "rank 1 (host b): gone"};
  });
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(error.code, Errc::kPeer);
  EXPECT_THAT(error.message, HasSubstr("rank 1 (host b): gone"));
}

TEST(TcpRendezvous, CarriesBytesBetweenRanksInBothDirections) {
  const std::uint16_t port = launch::free_port().value();
  const std::string binary("a\0b", 3);
  std::jthread other([&] {
    auto store = make_tcp_rendezvous({.rank = 1, .world = 2, .master_port = port, .host = "h"}, kPatience);
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->put("from/1", "one").ok());
    const auto got = (*store)->get("from/0", Deadline::in(kPatience));
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(*got, binary);
    ASSERT_TRUE((*store)->put("bye", "").ok());
  });
  auto store = make_tcp_rendezvous({.rank = 0, .world = 2, .master_port = port, .host = "h"}, kPatience);
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_TRUE((*store)->put("from/0", binary).ok());
  const auto got = (*store)->get("from/1", Deadline::in(kPatience));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(*got, "one");
  EXPECT_TRUE((*store)->get("bye", Deadline::in(kPatience)).ok());
}

TEST(TcpRendezvous, NamesTheKeyThatNobodyPut) {
  auto store = make_tcp_rendezvous(
      {.rank = 0, .world = 2, .master_port = launch::free_port().value(), .host = "h"}, kPatience);
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto got = (*store)->get("address/1", Deadline::in(from_seconds(0.05)));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::kTimeout);
  EXPECT_THAT(got.error().message, HasSubstr("'address/1'"));
  ASSERT_TRUE((*store)->put("address/1", "late").ok());
  EXPECT_TRUE((*store)->get("address/1", Deadline::in(kPatience)).ok());
}

TEST(TcpRendezvous, NamesAddressAndPortInUse) {
  const Listener taken;
  auto store =
      make_tcp_rendezvous({.rank = 0, .world = 2, .master_port = taken.port(), .host = "h"}, kPatience);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Errc::kResource);
  EXPECT_THAT(store.error().message,
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(taken.port())), HasSubstr("in use")));
}

TEST(TcpRendezvous, NamesTheMasterThatDoesNotAnswer) {
  auto store = make_tcp_rendezvous(
      {.rank = 1, .world = 2, .master_port = launch::free_port().value(), .host = "h"}, from_seconds(0.3));
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("rank 1 cannot reach rank 0 within 0.3 s: 127.0.0.1:"));
}

TEST(LocalAddress, IsTheOneThatReachesTheTarget) {
  const auto address = local_address_towards("127.0.0.1", 0);
  ASSERT_TRUE(address.ok()) << address.error().message;
  EXPECT_EQ(*address, "127.0.0.1");
  const auto unknown = local_address_towards("no-such-host.invalid", 0);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace rudder::train
