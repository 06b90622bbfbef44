// SPDX-License-Identifier: Apache-2.0
// Ranks that hold the structure of their own part only, against the whole structure.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/dataplane/degrees.h"
#include "rudder/dataplane/feed.h"
#include "rudder/graph/generators.h"
#include "rudder/sample/stream.h"

#include "dataplane/cluster.h"
#include "dataplane/owner_cluster.h"
#include "support/same_batch.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing_support::GraphShape;
using testing_support::MakeTransport;
using testing_support::OwnerCluster;
using testing_support::TestGraph;

Deadline soon() {
  return Deadline::in(from_seconds(60));
}

/// A generated graph in a folder, cut.
class CutGraph {
 public:
  CutGraph(std::string_view generator, const graph::GeneratorOptions& options, PartId parts)
      : folder_(TemporaryDirectory::create("rudder-owner").value()) {
    const auto data = graph::generate_graph(generator, options);
    EXPECT_TRUE(data.ok()) << data.error().message;
    EXPECT_TRUE(graph::write_graph(folder_.path() / "graph", *data).ok());
    const auto whole = graph::Graph::open(folder_.path() / "graph");
    const auto cut = graph::partition_graph(*whole, {.parts = parts, .method = graph::PartitionMethod::kLdg},
                                            folder_.path() / "parts", {});
    EXPECT_TRUE(cut.ok()) << cut.error().message;
    graph_ = std::make_unique<graph::PartitionedGraph>(
        graph::PartitionedGraph::open(folder_.path() / "parts").value());
  }
  [[nodiscard]] const graph::PartitionedGraph& graph() const { return *graph_; }

 private:
  TemporaryDirectory folder_;
  std::unique_ptr<graph::PartitionedGraph> graph_;
};

sample::Schedule schedule_of(const graph::PartitionedGraph& graph, std::size_t batch) {
  std::vector<std::span<const NodeId>> train;
  for (PartId p = 0; p < graph.book().parts(); ++p) {
    train.push_back(graph.train(p));
  }
  return sample::Schedule::create(11, batch, train).value();
}

/// Every batch of every rank.
void expect_same_batches(const graph::PartitionedGraph& whole, OwnerCluster& cluster, std::size_t batch,
                         const sample::StreamOptions& shape) {
  const sample::Schedule schedule = schedule_of(whole, batch);
  cluster.on_all([&](Rank rank) {
    sample::StreamOptions options = shape;
    options.rank = rank;
    const auto remote = cluster[rank].remote_neighbors();
    sample::SampleStream asking(cluster.graph(rank).slice(rank), whole.meta().nodes, *remote, schedule,
                                options);
    options.threads = 0;
    sample::SampleStream knowing(whole.topology(), schedule, options);
    for (std::uint64_t i = 0; i < knowing.total(); ++i) {
      auto got = asking.next(soon());
      const auto expected = knowing.next(soon());
      ASSERT_TRUE(got.ok()) << got.error().message;
      ASSERT_TRUE(test::same_batch(*got, *expected)) << "batch " << i << " of rank " << rank;
      asking.recycle(std::move(got).value());
    }
  });
}

std::vector<std::vector<int>> fanouts() {
  return {{10, 25}, {-1}, {15, 10, 5}};
}

class OwnerTopology : public testing::TestWithParam<PartId> {};

TEST_P(OwnerTopology, EqualsTheReplicatedOneInEveryBatchAtAnyThreadCountAndLookAhead) {
  graph::GeneratorOptions shape;
  shape.features = 1;
  shape.nodes = 1500;
  shape.edge_factor = 5;
  const CutGraph cut("chung-lu", shape, GetParam());
  OwnerCluster cluster(cut.graph());
  for (const std::vector<int>& fanout : fanouts()) {
    for (const std::size_t threads : {0U, 1U, 2U, 8U}) {
      for (const std::size_t ahead : {1U, 4U, 32U}) {
        SCOPED_TRACE(std::to_string(fanout.size()) + " hops, " + std::to_string(threads) + " threads, " +
                     std::to_string(ahead) + " ahead");
        expect_same_batches(cut.graph(), cluster, 15,
                            {.epochs = 2, .fanout = fanout, .threads = threads, .ahead = ahead});
      }
    }
  }
}

TEST_P(OwnerTopology, EqualsTheReplicatedOneInEveryBatchOfRMat16) {
  graph::GeneratorOptions shape;
  shape.features = 1;
  shape.train_share = 0.004;
  const CutGraph cut("rmat", shape, GetParam());
  OwnerCluster cluster(cut.graph());
  for (const std::vector<int>& fanout : fanouts()) {
    expect_same_batches(cut.graph(), cluster, 64, {.epochs = 2, .fanout = fanout, .threads = 2, .ahead = 4});
  }
}

TEST_P(OwnerTopology, EqualsTheReplicatedOneOverUcx) {
  graph::GeneratorOptions shape;
  shape.features = 1;
  shape.nodes = 2000;
  const CutGraph cut("chung-lu", shape, GetParam());
  OwnerCluster cluster(cut.graph(), {}, [](Rank rank, Rank world) {
    auto transport = transport::make_ucx_transport(rank, world);
    EXPECT_TRUE(transport.ok()) << transport.error().message;
    return std::move(transport).value();
  });
  for (const std::vector<int>& fanout : fanouts()) {
    expect_same_batches(cut.graph(), cluster, 25, {.epochs = 1, .fanout = fanout, .threads = 2, .ahead = 8});
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, OwnerTopology, testing::Values(2, 4), testing::PrintToStringParamName());

TEST(OwnerLink, ASlowOneDelaysBatchesAndChangesNone) {
  graph::GeneratorOptions shape;
  shape.features = 1;
  shape.nodes = 600;
  const CutGraph cut("chung-lu", shape, 3);
  auto loopback = transport::make_loopback_transports(3);
  OwnerCluster cluster(cut.graph(), {}, [&](Rank rank, Rank) {
    return rank == 1 ? transport::make_shaped_transport(std::move(loopback[rank]), 4e6, 256)
                     : std::move(loopback[rank]);
  });
  expect_same_batches(cut.graph(), cluster, 10, {.epochs = 1, .fanout = {10, 25}, .threads = 1, .ahead = 8});
}

/// A feed of one rank with its own part's structure.
class OwnerFeed : public testing::Test {
 protected:
  OwnerFeed() : graph_(GraphShape()), schedule_(sample::Schedule::create(11, 10, graph_.train()).value()) {}

  struct Running {
    std::unique_ptr<sample::RemoteNeighbors> remote;
    std::unique_ptr<BatchSource> source;
    sample::AskedTraffic before;  ///< moved to make it
  };
  Result<Running> feed(OwnerCluster& cluster, Rank rank, BufferOptions buffer, std::size_t threads = 2) {
    Running out;
    const graph::PartitionedGraph& own = cluster.graph(rank);
    RUDDER_ASSIGN(const bool wanted, wants_halo_degrees(buffer));
    if (wanted) {
      RUDDER_ASSIGN(AskedDegrees asked,
                    ask_degrees(cluster[rank], graph::halo_of(own.slice(rank), own.meta().nodes)));
      buffer.halo_degrees = std::move(asked.degrees);
      out.before = asked.moved;
    }
    out.remote = cluster[rank].remote_neighbors();
    RUDDER_ASSIGN(out.source, make_embedded_feed(
                                  {own, std::span(&cluster.part(rank), 1), schedule_, rank, out.remote.get()},
                                  cluster[rank], feeding(threads), buffer));
    return out;
  }
  static FeedOptions feeding(std::size_t threads) {
    FeedOptions options;
    options.fanout = {3, 4};
    options.epochs = 2;
    options.batch = 10;
    options.threads = threads;
    return options;
  }
  static BufferOptions buffer(const char* policy, SlotId slots = 30, std::uint32_t depth = 4) {
    BufferOptions options;
    options.policy = policy;
    options.slots = slots;
    options.depth = depth;
    return options;
  }

  TestGraph graph_;
  const sample::Schedule schedule_;
};

TEST_F(OwnerFeed, GivesTheSameBatchesAndRowsUnderEveryPolicyAndCountsEveryMessage) {
  for (const char* policy : {"none", "degree", "lru", "score", "lookahead"}) {
    for (const std::uint32_t depth : {0U, 4U}) {
      SCOPED_TRACE(std::string(policy) + ", depth " + std::to_string(depth));
      OwnerCluster cluster(graph_.graph());
      testing_support::Cluster replicated(graph_);
      std::vector<sample::AskedTraffic> asked(cluster.world());
      std::vector<Transfer> moved(cluster.world());
      const auto messages_before = [&] {
        transport::TransportCounters sum;
        for (Rank r = 0; r < cluster.world(); ++r) {
          sum.sent_messages += cluster[r].counters().sent_messages;
          sum.sent_bytes += cluster[r].counters().sent_bytes;
        }
        return sum;
      };
      const auto before = messages_before();
      cluster.on_all([&](Rank rank) {
        auto owner = feed(cluster, rank, buffer(policy, 30, depth));
        ASSERT_TRUE(owner.ok()) << owner.error().message;
        auto whole = make_embedded_feed({graph_.graph(), std::span(&graph_.part(rank), 1), schedule_, rank},
                                        replicated[rank], feeding(1), buffer(policy, 30, depth));
        ASSERT_TRUE(whole.ok()) << whole.error().message;
        asked[rank] = owner->before;
        for (StepId step = 0; step < owner->source->total(); ++step) {
          const auto got = owner->source->next();
          const auto expected = whole.value()->next();
          ASSERT_TRUE(got.ok()) << got.error().message;
          ASSERT_TRUE(test::same_batch(got->sampled, expected->sampled));
          EXPECT_EQ(got->labels, expected->labels);
          for (std::size_t i = 0; i < got->sampled.nodes.size(); ++i) {
            ASSERT_TRUE(
                graph_.row_is_right(got->sampled.nodes[i], got->rows.data() + i * graph_.row_bytes()));
          }
          EXPECT_EQ(got->counts.requests, expected->counts.requests);
          if (std::string_view(policy) != "lookahead") {  // goes by degrees where the other goes by chance
            EXPECT_EQ(got->counts.hits, expected->counts.hits);
            EXPECT_EQ(got->transfer.messages, expected->transfer.messages);
            EXPECT_EQ(got->transfer.wire_bytes, expected->transfer.wire_bytes);
          }
          EXPECT_GT(got->sampled.asked.messages, 0U);
          asked[rank] += got->sampled.asked;
          moved[rank] += got->transfer;
        }
      });
      std::uint64_t messages = 0;
      std::uint64_t bytes = 0;
      for (Rank r = 0; r < cluster.world(); ++r) {
        messages += asked[r].messages + moved[r].messages;
        bytes += asked[r].bytes + moved[r].wire_bytes;
      }
      const auto after = messages_before();
      EXPECT_EQ(after.sent_messages - before.sent_messages, messages) << "each counted once, by the asker";
      EXPECT_EQ(after.sent_bytes - before.sent_bytes, bytes);
    }
  }
}

TEST_F(OwnerFeed, PoliciesThatNeedTheWholeStructureSaySo) {
  OwnerCluster cluster(graph_.graph());
  const auto refused = feed(cluster, 0, buffer("vip"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("'vip'"), HasSubstr("--topology replicated")));
  const auto nobody = make_embedded_feed({cluster.graph(0), std::span(&cluster.part(0), 1), schedule_, 0},
                                         cluster[0], feeding(1), buffer("lru"));
  EXPECT_THAT(nobody.error().message, HasSubstr("nobody is there to be asked"));
}

TEST_F(OwnerFeed, DegreesOfRemoteNodesAreTheWholeStructures) {
  OwnerCluster cluster(graph_.graph());
  const auto nodes = graph_.remote_nodes(1, 50, 3);
  const auto asked = ask_degrees(cluster[1], nodes);
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(asked->degrees[i], graph_.graph().topology().degree(nodes[i]));  // no self-loops in it
  }
  EXPECT_EQ(asked->moved.nodes, 50U);
  EXPECT_EQ(asked->moved.messages, 4U);
}

TEST_F(OwnerFeed, AnOwnersDeathIsOneErrorWithItsName) {
  for (const std::uint32_t depth : {0U, 2U}) {
    OwnerCluster cluster(graph_.graph());
    auto running = feed(cluster, 0, buffer("lookahead", 10, depth));
    ASSERT_TRUE(running.ok());
    ASSERT_TRUE(running->source->next().ok());
    cluster.kill(2);
    std::string message;
    for (StepId step = 1; step < running->source->total() && message.empty(); ++step) {
      const auto batch = running->source->next();
      message = batch.ok() ? "" : batch.error().message;
    }
    EXPECT_THAT(message, AllOf(HasSubstr("rank 2 (host host2)"),
                               AnyOf(HasSubstr("sampling batch"), HasSubstr("fetching rows"))));
    EXPECT_EQ(running->source->next().error().message, message);
  }
}

TEST_F(OwnerFeed, CanBeDestroyedAtAnyMoment) {
  OwnerCluster cluster(graph_.graph());
  CounterRng rng({3});
  for (int round = 0; round < 40; ++round) {
    auto running = feed(cluster, 0, buffer("lru", 20, 1 + static_cast<std::uint32_t>(rng.below(4))), 2);
    ASSERT_TRUE(running.ok());
    for (std::uint64_t calls = rng.below(6); calls > 0; --calls) {
      ASSERT_TRUE(running->source->next().ok());
    }
  }
}

TEST_F(OwnerFeed, RanksOfBothKindsDoNotMeet) {
  auto transports = transport::make_loopback_transports(3);
  transport::LocalRendezvous rendezvous;
  PlaneOptions shared;  // its secret, too
  shared.world = 3;
  shared.host = "h";
  std::vector<std::string> messages(3);
  std::vector<std::thread> threads;
  for (Rank r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      const auto own = graph::PartitionedGraph::open_own(graph_.graph().directory(), r);
      PlaneOptions options = shared;
      options.rank = r;
      const auto plane =
          Plane::create(r == 0 ? graph_.graph() : *own, std::move(transports[r]), rendezvous, options);
      messages[r] = plane.ok() ? "met" : plane.error().message;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(messages[1], HasSubstr("rank 0 (host h) disagrees: topology 'replicated' there, 'owner' here"));
}

}  // namespace
}  // namespace rudder::dataplane
