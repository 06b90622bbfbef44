// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/feed.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/planner.h"
#include "rudder/graph/vip.h"

#include "dataplane/cluster.h"
#include "dataplane/recording_transport.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Cluster;
using testing_support::GraphShape;
using testing_support::InFlightRows;
using testing_support::RecordingTransport;
using testing_support::TestGraph;

constexpr std::size_t kBatch = 10;

struct RunOptions : FeedOptions, BufferOptions {};

/// What a run of one rank must deliver, made without the data plane: batches from the sampler alone, counts
/// from the planner alone.
class Reference {
 public:
  Reference(const TestGraph& graph, const sample::Schedule& schedule, Rank rank, const RunOptions& options) {
    sample::NeighborSampler sampler(graph.graph().topology(), options.fanout, schedule.seed());
    for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
      for (std::uint32_t b = 0; b < schedule.steps_per_epoch(); ++b) {
        const sample::BatchKey key{epoch, b, rank};
        batches_.emplace_back();
        sampler.sample(schedule.seeds(key), key, schedule.global_batch(key), batches_.back());
      }
    }
    count(graph.graph(), schedule, rank, options);
  }

  [[nodiscard]] const std::vector<sample::SampledBatch>& batches() const { return batches_; }
  [[nodiscard]] const std::vector<cache::Counts>& counts() const { return counts_; }

 private:
  void count(const graph::PartitionedGraph& graph, const sample::Schedule& schedule, Rank rank,
             const RunOptions& options) {
    const auto& book = graph.book();
    const auto halo = graph::halo_of(graph.slice(rank), graph.meta().nodes);
    const auto vip =
        graph::inclusion_probability(graph.topology(), graph.train(rank), options.batch, options.fanout);
    cache::PolicyContext context;
    context.capacity = options.slots;
    context.steps = batches_.size();
    context.steps_per_epoch = schedule.steps_per_epoch();
    context.seed = cache::policy_seed(schedule.seed(), book.begin(rank));
    context.owned_begin = book.begin(rank);
    context.owned_end = book.end(rank);
    context.halo = halo;
    context.indptr = graph.topology().indptr;
    const auto* info = cache::find_policy(options.policy).value();
    if (info->needs_vip) {
      context.vip = vip;
    }
    cache::Planner planner(info->make(context, options.settings), options.slots, 0);
    for (const auto& batch : batches_) {
      std::set<NodeId> remote;
      for (const NodeId v : batch.nodes) {
        if (!book.owns(rank, v)) {
          remote.insert(v);
        }
      }
      planner.push({remote.begin(), remote.end()});
    }
    planner.finish();
    counts_.resize(batches_.size());
    while (!planner.done()) {
      const cache::Plan plan = planner.next();
      counts_[plan.fill ? 0 : plan.step] += plan.counts;
    }
  }

  std::vector<sample::SampledBatch> batches_;
  std::vector<cache::Counts> counts_;
};

void expect_same_batch(const sample::SampledBatch& got, const sample::SampledBatch& want) {
  ASSERT_EQ(got.nodes, want.nodes);
  EXPECT_EQ(got.seeds, want.seeds);
  ASSERT_EQ(got.layers.size(), want.layers.size());
  for (std::size_t l = 0; l < got.layers.size(); ++l) {
    EXPECT_EQ(got.layers[l].indptr, want.layers[l].indptr);
    EXPECT_EQ(got.layers[l].indices, want.layers[l].indices);
  }
}

void expect_right(const TestGraph& graph, const Batch& batch, const Reference& reference) {
  expect_same_batch(batch.sampled, reference.batches()[batch.step]);
  for (std::size_t i = 0; i < batch.sampled.nodes.size(); ++i) {
    ASSERT_TRUE(graph.row_is_right(batch.sampled.nodes[i], batch.rows.data() + i * graph.row_bytes()))
        << "batch " << batch.step << ", row " << i;
  }
  ASSERT_EQ(batch.labels.size(), batch.sampled.seeds);
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const auto node = static_cast<std::size_t>(batch.sampled.nodes[i]);
    EXPECT_EQ(batch.labels[i], graph.graph().original_ids()[node] % 5);
  }
  const cache::Counts& want = reference.counts()[batch.step];
  EXPECT_EQ(batch.counts.requests, want.requests);
  EXPECT_EQ(batch.counts.hits, want.hits);
  EXPECT_EQ(batch.counts.fetched, want.fetched);
  EXPECT_EQ(batch.counts.bypassed, want.bypassed);
  EXPECT_EQ(batch.transfer.rows, want.fetched);
  EXPECT_EQ(batch.transfer.payload_bytes, want.fetched * graph.row_bytes());
}

/// A graph, its cluster and a schedule.
class FeedTest : public testing::Test {
 protected:
  explicit FeedTest(const GraphShape& shape = {}) : graph_(shape) {}

  static sample::Schedule make_schedule(const TestGraph& graph) {
    return sample::Schedule::create(11, kBatch, graph.train()).value();
  }
  static RunOptions feed_options(std::string policy, SlotId slots, std::uint32_t depth, std::size_t threads) {
    RunOptions options;
    options.policy = std::move(policy);
    options.slots = slots;
    options.fanout = {3, 4};
    options.epochs = 2;
    options.batch = kBatch;
    options.threads = threads;
    options.depth = depth;
    options.settings.score_period = 2;
    return options;
  }
  Result<std::unique_ptr<BatchSource>> feed(Cluster& cluster, Rank rank, const RunOptions& options) {
    return make_embedded_feed({graph_.graph(), std::span(&graph_.part(rank), 1), schedule_, rank},
                              cluster[rank], options, options);
  }
  void run_rank(Cluster& cluster, Rank rank, const RunOptions& options) {
    const Reference reference(graph_, schedule_, rank, options);
    auto source = feed(cluster, rank, options);
    ASSERT_TRUE(source.ok()) << source.error().message;
    ASSERT_EQ(source.value()->total(), reference.batches().size());
    for (StepId step = 0; step < source.value()->total(); ++step) {
      auto batch = source.value()->next();
      ASSERT_TRUE(batch.ok()) << batch.error().message;
      ASSERT_EQ(batch.value().step, step);
      expect_right(graph_, batch.value(), reference);
      if (step % 3 != 0) {
        source.value()->recycle(std::move(batch).value());
      }
    }
    EXPECT_EQ(source.value()->next().error().code, Errc::kInvalidArgument);
  }
  void run_all(Cluster& cluster, const RunOptions& options) {
    std::vector<std::thread> threads;
    for (Rank r = 0; r < cluster.world(); ++r) {
      threads.emplace_back([&, r] { run_rank(cluster, r, options); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  [[nodiscard]] std::vector<SlotId> buffer_sizes() const {
    const auto halo = graph::halo_of(graph_.graph().slice(0), graph_.graph().meta().nodes).size();
    return {0, 3, static_cast<SlotId>(halo / 10), static_cast<SlotId>(halo + 100)};
  }
  void run_every_policy_and_size() {
    PlaneOptions options;
    options.request_bytes = 20 * graph_.row_bytes();
    Cluster cluster(graph_, options);
    for (const cache::PolicyInfo& policy : cache::policy_table()) {
      if (!policy.live) {
        continue;
      }
      for (const SlotId slots : buffer_sizes()) {
        for (const auto& [depth, threads] : {std::pair{0U, 1U}, {1U, 1U}, {4U, 2U}}) {
          SCOPED_TRACE(std::string(policy.name) + ", slots " + std::to_string(slots) + ", depth " +
                       std::to_string(depth));
          run_all(cluster, feed_options(std::string(policy.name), slots, depth, threads));
          if (HasFailure()) {
            return;
          }
        }
      }
    }
    for (Rank r = 0; r < cluster.world(); ++r) {
      EXPECT_EQ(cluster[r].discarded_frames(), 0U);
    }
  }

  TestGraph graph_;
  const sample::Schedule schedule_ = make_schedule(graph_);
};

TEST_F(FeedTest, EveryPolicySizeAndDepthGivesTheRowsOfTheSourceAndTheCountsOfAReplay) {
  run_every_policy_and_size();
}

class OddRowFeedTest : public FeedTest {
 protected:
  OddRowFeedTest() : FeedTest(shape()) {}
  static GraphShape shape() {
    GraphShape shape;
    shape.dtype = DType::kF16;  // 7 x 2 bytes
    shape.parts = 2;
    shape.nodes = 300;
    return shape;
  }
};

TEST_F(OddRowFeedTest, EveryPolicySizeAndDepthGivesTheRowsOfTheSourceAndTheCountsOfAReplay) {
  run_every_policy_and_size();
}

class LoneFeedTest : public FeedTest {
 protected:
  LoneFeedTest() : FeedTest(shape()) {}
  static GraphShape shape() {
    GraphShape shape;
    shape.parts = 1;
    shape.nodes = 100;
    return shape;
  }
};

TEST_F(LoneFeedTest, AGraphInOnePartNeedsNoNetwork) {
  Cluster cluster(graph_);
  for (const char* policy : {"none", "degree", "lookahead"}) {
    run_all(cluster, feed_options(policy, 5, 2, 1));
  }
  EXPECT_EQ(cluster[0].counters().sent_messages, 0U);
}

TEST_F(FeedTest, NoRowIsEverInFlightTwice) {
  // A link so slow that the planner is always as far ahead as it may be.
  constexpr double kBitsPerSecond = 4e6;
  std::vector<std::unique_ptr<InFlightRows>> rows;
  for (Rank r = 0; r < 3; ++r) {
    rows.push_back(std::make_unique<InFlightRows>(graph_.graph().book()));
  }
  PlaneOptions options;
  options.request_bytes = 5 * graph_.row_bytes();
  options.credits = 64;
  Cluster cluster(graph_, options, [&](Rank rank, std::unique_ptr<transport::Transport> inner) {
    return std::make_unique<RecordingTransport>(
        transport::make_shaped_transport(std::move(inner), kBitsPerSecond, 256), *rows[rank]);
  });
  for (const char* policy : {"fixed-window", "lru", "degree", "lookahead"}) {
    for (const SlotId slots : {5U, 60U}) {
      SCOPED_TRACE(std::string(policy) + ", slots " + std::to_string(slots));
      run_all(cluster, feed_options(policy, slots, 4, 2));
    }
  }
  for (const auto& seen : rows) {
    EXPECT_EQ(seen->twice(), 0U);
    EXPECT_EQ(seen->malformed(), 0U);
    EXPECT_GT(seen->total(), 1000U);
  }
}

TEST_F(FeedTest, WaitsForAnOwnerThatPublishesLate) {
  Cluster cluster(graph_);
  cluster[2].withdraw(0);
  std::thread consumer([&] { run_rank(cluster, 0, feed_options("lookahead", 50, 2, 1)); });
  cluster[2].publish(0, graph_.part(2).features(), graph_.row_bytes());
  consumer.join();
}

TEST_F(FeedTest, AnOwnerThatNeverPublishesIsNamed) {
  PlaneOptions options;
  options.deadline = from_seconds(0.3);
  Cluster cluster(graph_, options);
  cluster[2].withdraw(0);
  for (const char* policy : {"none", "degree", "lookahead"}) {
    auto source = feed(cluster, 0, feed_options(policy, 50, 2, 1));
    ASSERT_TRUE(source.ok());
    const auto batch = source.value()->next();
    ASSERT_FALSE(batch.ok()) << policy;
    EXPECT_THAT(batch.error().message, AllOf(HasSubstr("rank 2 (host host2) refused"), HasSubstr("table 0")));
    EXPECT_EQ(source.value()->next().error().message, batch.error().message) << "errors stay";
  }
}

TEST_F(FeedTest, APeersDeathInMidRunNamesIt) {
  for (const char* policy : {"none", "lookahead"}) {
    Cluster cluster(graph_);
    auto source = feed(cluster, 0, feed_options(policy, 10, 2, 1));
    ASSERT_TRUE(source.ok());
    ASSERT_TRUE(source.value()->next().ok());
    cluster.kill(2);
    std::string message;
    for (StepId step = 1; step < source.value()->total() && message.empty(); ++step) {
      const auto batch = source.value()->next();
      message = batch.ok() ? "" : batch.error().message;
    }
    EXPECT_THAT(message, AllOf(HasSubstr("fetching rows of batch"), HasSubstr("rank 2 (host host2)")))
        << policy;
  }
}

TEST_F(FeedTest, CancelledPlanesEndTheFeed) {
  Cluster cluster(graph_);
  cluster[2].withdraw(0);
  auto source = feed(cluster, 0, feed_options("lookahead", 10, 2, 1));
  ASSERT_TRUE(source.ok());
  std::thread other([&] { cluster[0].cancel(Error{Errc::kPeer, "the job was stopped"}); });
  EXPECT_THAT(source.value()->next().error().message, HasSubstr("the job was stopped"));
  other.join();
}

TEST_F(FeedTest, CanBeDestroyedAtAnyMoment) {
  PlaneOptions options;
  options.request_bytes = graph_.row_bytes();
  options.credits = 1;
  Cluster cluster(graph_, options);
  CounterRng rng({3});
  for (int round = 0; round < 60; ++round) {
    if (round == 40) {
      cluster[1].withdraw(0);  // from here on pulls hang
    }
    const char* policy = round % 2 == 0 ? "degree" : "lookahead";
    auto source = feed(cluster, 0, feed_options(policy, 80, 1 + static_cast<std::uint32_t>(rng.below(4)), 2));
    ASSERT_TRUE(source.ok());
    for (std::uint64_t calls = round < 40 ? rng.below(6) : 0; calls > 0; --calls) {
      ASSERT_TRUE(source.value()->next().ok());
    }
  }
}

TEST_F(FeedTest, MemoryOfRecycledBatchesIsUsedAgain) {
  Cluster cluster(graph_);
  RunOptions options = feed_options("lookahead", 50, 2, 1);
  options.epochs = 20;
  auto source = feed(cluster, 0, options);
  ASSERT_TRUE(source.ok());
  std::set<const std::byte*> blocks;
  for (StepId step = 0; step < source.value()->total(); ++step) {
    auto batch = source.value()->next();
    ASSERT_TRUE(batch.ok());
    if (step > 10) {
      blocks.insert(batch.value().rows.data());
    }
    source.value()->recycle(std::move(batch).value());
  }
  EXPECT_LE(blocks.size(), 5U) << "one in training, two ahead, one in work";
}

TEST_F(FeedTest, RefusesWrongOptionsClearly) {
  Cluster cluster(graph_);
  const auto message = [&](const RunOptions& options, Rank rank = 0, PartId part = 0) {
    const auto source = make_embedded_feed(
        {graph_.graph(), std::span(&graph_.part(part), 1), schedule_, rank}, cluster[0], options, options);
    return source.ok() ? std::string("made") : source.error().message;
  };
  EXPECT_EQ(message(feed_options("min", 5, 1, 1)),
            "policy 'min' needs the whole trace, so it can only be replayed");
  EXPECT_THAT(message(feed_options("lokahead", 5, 1, 1)), HasSubstr("lookahead"));
  EXPECT_THAT(message(feed_options("lru", 5, 1, 1), 0, 1), HasSubstr("rank 0 without part 0"));
  RunOptions no_fanout = feed_options("lru", 5, 1, 1);
  no_fanout.fanout.clear();
  EXPECT_THAT(message(no_fanout), HasSubstr("no fan-out"));
  EXPECT_THAT(message(feed_options("lru", kNoSlot - 1, 1, 1)), HasSubstr("a buffer of 4294967294 rows: "));
}

}  // namespace
}  // namespace rudder::dataplane
