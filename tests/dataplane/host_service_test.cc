// SPDX-License-Identifier: Apache-2.0
// The service and its trainers over real sockets and shared memory.
#include "rudder/dataplane/host_service.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/dataplane/attach.h"

#include "dataplane/local_socket.h"
#include "dataplane/service_fixture.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::GraphShape;

class HostServiceTest : public testing_support::ServiceFixture {};

TEST_F(HostServiceTest, GivesTheRowsOfTheSourceAndTheCountsOfAReplay) {
  for (const char* policy : {"none", "lru", "degree", "lookahead"}) {
    SCOPED_TRACE(policy);
    BufferOptions options = lookahead(60);
    options.policy = policy;
    std::vector<std::unique_ptr<HostService>> services;
    std::vector<std::future<Result<ServedRun>>> runs;
    for (Rank host = 0; host < 2; ++host) {
      services.push_back(open(host, options));
      runs.push_back(std::async(std::launch::async, [&, host] { return services[host]->serve_run(); }));
    }
    std::vector<std::thread> ranks;
    for (Rank rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&, rank] {
        auto supply = attach_rank(rank);
        ASSERT_TRUE(supply.ok()) << supply.error().message;
        EXPECT_EQ(supply.value()->terms().policy, policy);
        hosts_.run_rank(rank, std::move(supply).value());
      });
    }
    for (std::thread& rank : ranks) {
      rank.join();
    }
    for (Rank host = 0; host < 2; ++host) {
      const auto served = runs[host].get();
      ASSERT_TRUE(served.ok()) << served.error().message;
      const cache::Counts want = merged_counts(hosts_, host, options);
      EXPECT_EQ(served.value().counts.requests, want.requests);
      EXPECT_EQ(served.value().counts.hits, want.hits);
      EXPECT_EQ(served.value().counts.fetched, want.fetched);
      EXPECT_EQ(served.value().transfer.rows, want.fetched);
    }
  }
}

/// Where an address is mapped, and how, from /proc/self/maps.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 &&
        begin <= reinterpret_cast<std::uintptr_t>(address) &&
        reinterpret_cast<std::uintptr_t>(address) < end) {
      return line;
    }
  }
  return "";
}

TEST_F(HostServiceTest, RowsLieInSharedMemoryThatATrainerCannotWrite) {
  auto service = open(0, lookahead(60));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  auto other = std::async(std::launch::async, [&] { return attach_rank(1); });
  auto supply = attach_rank(0);
  ASSERT_TRUE(supply.ok()) << supply.error().message;
  auto second = other.get();
  ASSERT_TRUE(second.ok());
  const NodeId remote = hosts_.graph().graph().book().begin(2);
  RowSupply& mine = *supply.value();
  mine.ask();
  second.value()->ask();
  std::thread offers([&] {
    for (std::uint64_t i = 0; i < hosts_.run_shape().steps; ++i) {
      ASSERT_TRUE(mine.offer({remote}).ok());
      ASSERT_TRUE(second.value()->offer({}).ok());
    }
  });
  const auto placed = mine.take();
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  const cache::RowSource place = placed.value().places.at(0);
  const std::byte* row = (place.staged ? placed.value().staging : placed.value().slots) +
                         place.place * hosts_.graph().row_bytes();
  EXPECT_TRUE(hosts_.graph().row_is_right(remote, row));
  EXPECT_THAT(mapping_of(row), AllOf(HasSubstr(" r--s "), HasSubstr("memfd:rudder-rows")));
  auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(row) & ~std::uintptr_t{4095});
  EXPECT_NE(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0) << "the mapping must not become writable";
  const pid_t writer = ::fork();
  if (writer == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler of their own
    *const_cast<std::byte*>(row) = std::byte{1};
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "writing went through";
  offers.join();
  supply.value().reset();
  second.value().reset();
  EXPECT_TRUE(run.get().ok());
}

TEST_F(HostServiceTest, TheSocketBelongsToItsUserAndADeadOnesIsReplaced) {
  {
    auto service = open(0, lookahead(5));
    struct stat found {};
    ASSERT_EQ(::stat(socket(0).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0600U);
    const auto second =
        HostService::open(hosts_.graph().graph(), hosts_.plane(0), service_options(0, lookahead(5)));
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("in use by a running service"));
    EXPECT_TRUE(std::filesystem::exists(socket(0))) << "a live socket is not touched";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  const pid_t child = ::fork();
  if (child == 0) {
    static auto listener = LocalListener::open(socket(0));
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(socket(0))) << "left by the dead";
  auto service = open(0, lookahead(5));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  service->stop();
  EXPECT_EQ(run.get().error().code, Errc::kCancelled);
  service.reset();
  std::ofstream(socket(0)) << "a file of somebody";
  const auto third =
      HostService::open(hosts_.graph().graph(), hosts_.plane(0), service_options(0, lookahead(5)));
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message, HasSubstr("is no socket"));
  EXPECT_TRUE(std::filesystem::is_regular_file(socket(0)));
  EXPECT_FALSE(std::filesystem::exists(socket(0).string() + ".lock"));
}

TEST_F(HostServiceTest, RefusesWhatDoesNotFitWithTheReason) {
  auto service = open(0, lookahead(5));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  auto first = std::async(std::launch::async, [&] { return attach_rank(0); });
  const auto refusal = [&](Rank rank, const RunShape& shape) {
    const auto supply = attach(hosts_.graph().graph(), rank, shape, socket(0), from_seconds(10));
    return supply.ok() ? std::string("taken") : supply.error().message;
  };
  EXPECT_THAT(refusal(2, hosts_.run_shape()), HasSubstr("this host has ranks 0 to 1, not 2"));
  {
    const GraphShape other_shape{.parts = 4, .seed = 6};
    const testing_support::TestGraph other(other_shape);
    const auto supply = attach(other.graph(), 1, hosts_.run_shape(), socket(0), from_seconds(10));
    ASSERT_FALSE(supply.ok());
    EXPECT_THAT(supply.error().message, HasSubstr("graph digest"));
  }
  // Rank 0 may come before or after these; either way one of each pair is refused.
  auto wrong = hosts_.run_shape();
  auto second = std::async(std::launch::async, [&] { return attach_rank(1); });
  auto supply = first.get();
  auto other = second.get();
  ASSERT_TRUE(supply.ok()) << supply.error().message;
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_THAT(refusal(0, wrong), HasSubstr("is under way"));
  supply.value().reset();
  other.value().reset();
  EXPECT_TRUE(run.get().ok());
}

TEST_F(HostServiceTest, TrainersMustRunTheSame) {
  auto service = open(0, lookahead(5));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  const auto attach_one_of_each = [&](const RunShape& shape) {
    auto first = std::async(std::launch::async, [&] { return attach_rank(0); });
    auto second = std::async(std::launch::async, [&] { return attach_rank(1, shape); });
    // One of them is refused; the other then waits for a partner, which comes now.
    std::string refused;
    for (;;) {
      if (second.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) {
        auto partner = attach_rank(1);
        refused = second.get().error().message;
        EXPECT_TRUE(first.get().ok());
        return refused;
      }
      if (first.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) {
        auto partner = attach_rank(0, shape);
        refused = first.get().error().message;
        EXPECT_TRUE(second.get().ok());
        return refused;
      }
    }
  };
  RunShape other = hosts_.run_shape();
  other.seed = 12;
  EXPECT_THAT(attach_one_of_each(other), AllOf(HasSubstr("seed '"), HasSubstr("12"), HasSubstr("11")));
  EXPECT_TRUE(run.get().ok());
}

TEST_F(HostServiceTest, TellsWhoIsMissing) {
  ServiceOptions options = service_options(0, lookahead(5));
  options.deadline = from_seconds(0.1);
  auto service = HostService::open(hosts_.graph().graph(), hosts_.plane(0), options);
  ASSERT_TRUE(service.ok());
  auto run = std::async(std::launch::async, [&] { return service.value()->serve_run(); });
  const auto supply = attach_rank(0);
  ASSERT_FALSE(supply.ok());
  EXPECT_THAT(supply.error().message, HasSubstr("only 1 of 2 trainers attached within 0.1 s"));
  service.value()->stop();
  EXPECT_EQ(run.get().error().code, Errc::kCancelled);
  const auto nobody =
      attach(hosts_.graph().graph(), 0, hosts_.run_shape(), folder_.path() / "none.sock", from_seconds(0.05));
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.error().message, AllOf(HasSubstr("nobody listens at"), HasSubstr("none.sock")));
}

TEST_F(HostServiceTest, ATrainerThatDiesLeavesItsSiblingAndTheNextRunUnharmed) {
  auto service = open(0, lookahead(60));
  for (int round = 0; round < 3; ++round) {
    auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
    auto dying = std::async(std::launch::async, [&] { return attach_rank(1); });
    auto supply = attach_rank(0);
    ASSERT_TRUE(supply.ok());
    auto other = dying.get();
    ASSERT_TRUE(other.ok());
    std::thread dies([&] {
      other.value()->ask();
      for (int i = 0; i < round; ++i) {
        static_cast<void>(other.value()->offer({hosts_.graph().graph().book().begin(3)}));
      }
      if (round == 2) {
        ASSERT_TRUE(other.value()->take().ok());  // dies holding rows
      }
      other.value().reset();  // what the kernel does for a killed process: its sockets close
    });
    hosts_.run_rank(0, std::move(supply).value());
    dies.join();
    const auto served = run.get();
    ASSERT_TRUE(served.ok()) << served.error().message;
  }
}

TEST_F(HostServiceTest, TrainersHearOfAPeerThatFails) {
  auto service = open(0, lookahead(0));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  auto second = std::async(std::launch::async, [&] { return attach_rank(1); });
  auto supply = attach_rank(0);
  ASSERT_TRUE(supply.ok());
  auto other = second.get();
  ASSERT_TRUE(other.ok());
  hosts_.plane(0).cancel(Error{Errc::kPeer, "rank 1 (host b): connection reset"});
  const NodeId remote = hosts_.graph().graph().book().begin(2);
  std::thread offers([&] {
    static_cast<void>(supply.value()->offer({remote}));
    static_cast<void>(other.value()->offer({remote}));
  });
  supply.value()->ask();
  other.value()->ask();
  EXPECT_THAT(supply.value()->take().error().message,
              AllOf(HasSubstr("service at "), HasSubstr("rank 1 (host b): connection reset")));
  EXPECT_THAT(other.value()->take().error().message, HasSubstr("rank 1 (host b): connection reset"));
  offers.join();
  EXPECT_THAT(run.get().error().message, HasSubstr("rank 1 (host b): connection reset"));
}

}  // namespace
}  // namespace rudder::dataplane
