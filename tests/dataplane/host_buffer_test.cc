// SPDX-License-Identifier: Apache-2.0
// One buffer for several trainers of a host: the host's counts are those of a replay of its merged batches,
// rows are right whatever the interleaving, and a trainer that leaves holds up nobody.
#include "dataplane/host_buffer.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/planner.h"
#include "rudder/dataplane/feed.h"

#include "dataplane/cluster.h"
#include "dataplane/shared_hosts.h"

namespace rudder::dataplane {
namespace {

using testing::HasSubstr;
using testing_support::GraphShape;
using testing_support::Hosts;
using testing_support::merged_counts;

class HostBufferTest : public testing::Test {
 protected:
  static GraphShape shape() {
    GraphShape shape;
    shape.parts = 4;
    return shape;
  }
  Hosts hosts_{shape(), 2};
};

TEST_F(HostBufferTest, SharesRowsAndCountsLikeAReplayOfTheMergedBatches) {
  for (const cache::PolicyInfo& policy : cache::policy_table()) {
    if (!policy.live) {
      continue;
    }
    for (const SlotId slots : {0U, 5U, 60U, 1000U}) {
      SCOPED_TRACE(std::string(policy.name) + ", slots " + std::to_string(slots));
      BufferOptions options;
      options.policy = policy.name;
      options.slots = slots;
      options.depth = slots % 2 == 0 ? 3 : 0;
      options.settings.score_period = 2;
      const auto got = hosts_.run(options, private_row_memory);
      for (Rank host = 0; host < 2; ++host) {
        const cache::Counts want = merged_counts(hosts_, host, options);
        EXPECT_EQ(got[host].requests, want.requests);
        EXPECT_EQ(got[host].hits, want.hits);
        EXPECT_EQ(got[host].fetched, want.fetched);
        EXPECT_EQ(got[host].bypassed, want.bypassed);
      }
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST_F(HostBufferTest, FetchesLessThanBuffersOfTheSameSizeApart) {
  BufferOptions shared;
  shared.slots = 120;
  std::uint64_t together = 0;
  for (const cache::Counts& counts : hosts_.run(shared, private_row_memory)) {
    together += counts.fetched;
  }
  std::uint64_t apart = 0;
  for (Rank rank = 0; rank < 4; ++rank) {
    BufferOptions own;
    own.slots = 60;
    apart += testing_support::lone_counts(hosts_, rank, own).fetched;
  }
  EXPECT_LT(together, apart);
}

/// Drives one supply by hand.
class Hand {
 public:
  explicit Hand(std::unique_ptr<RowSupply> supply) : supply_(std::move(supply)) {}
  void offer(std::vector<NodeId> rows) { ASSERT_TRUE(supply_->offer(std::move(rows)).ok()); }
  void ask() { supply_->ask(); }
  [[nodiscard]] Result<PlacedRows> take() { return supply_->take(); }
  void release() { supply_->release(); }
  void leave() { supply_.reset(); }
  void stop() { supply_->stop(); }

 private:
  std::unique_ptr<RowSupply> supply_;
};

TEST_F(HostBufferTest, ATrainerThatLeavesHoldsUpNobody) {
  const auto rows = hosts_.graph().remote_nodes(0, 40, 1);
  std::vector<NodeId> remote;
  std::ranges::copy_if(rows, std::back_inserter(remote),
                       [&](NodeId v) { return v >= hosts_.graph().graph().book().end(1); });
  BufferOptions options;
  options.policy = "lru";
  options.slots = 10;
  for (const char* when : {"before offering", "after offering", "holding rows"}) {
    SCOPED_TRACE(when);
    auto buffer = hosts_.buffer(0, options, 3, private_row_memory);
    Hand stays(buffer->supply(0));
    Hand leaves(buffer->supply(1));
    if (std::string(when) != "before offering") {
      leaves.offer(remote);
      leaves.ask();
    }
    stays.offer({remote[0]});
    stays.ask();
    if (std::string(when) == "holding rows") {
      ASSERT_TRUE(leaves.take().ok());
      ASSERT_TRUE(stays.take().ok());
      stays.release();
    }
    std::thread other([&] { leaves.leave(); });
    const int left = std::string(when) == "holding rows" ? 2 : 3;
    for (int i = 0; i < left; ++i) {
      if (i > 0 || left == 2) {
        stays.offer({remote[0], remote[1]});
        stays.ask();
      }
      const auto placed = stays.take();
      ASSERT_TRUE(placed.ok()) << placed.error().message;
      stays.release();
    }
    other.join();
    EXPECT_FALSE(buffer->failure().has_value());
  }
}

TEST_F(HostBufferTest, SaysWhomItWaitsFor) {
  BufferOptions options;
  options.policy = "lru";
  auto buffer = hosts_.buffer(0, options, 2, private_row_memory);
  auto first = buffer->supply(0);
  auto second = buffer->supply(1);
  ASSERT_TRUE(first->offer({}).ok());
  ASSERT_TRUE(second->offer({}).ok());
  first->ask();
  second->ask();
  ASSERT_TRUE(first->take().ok());
  EXPECT_EQ(first->waiting_for(), "local trainer 0 to read batch 0");
  first->release();
  EXPECT_EQ(first->waiting_for(), "local trainer 1 to read batch 0");
  second->stop();
  EXPECT_EQ(second->take().error().code, Errc::kCancelled);
}

TEST_F(HostBufferTest, AFailureReachesAllTrainers) {
  BufferOptions options;
  options.policy = "lru";
  auto buffer = hosts_.buffer(0, options, 2, private_row_memory);
  auto first = buffer->supply(0);
  auto second = buffer->supply(1);
  std::string error;
  std::thread waits([&] { error = first->take().error().message; });
  buffer->fail(Error{Errc::kPeer, "rank 1 (host b): gone"});
  waits.join();
  EXPECT_EQ(error, "rank 1 (host b): gone");
  EXPECT_EQ(second->offer({}).error().message, "rank 1 (host b): gone");
  EXPECT_EQ(buffer->failure()->message, "rank 1 (host b): gone");
}

}  // namespace
}  // namespace rudder::dataplane
