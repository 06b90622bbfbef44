// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/plane.h"

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/cluster.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::Cluster;
using testing_support::GraphShape;
using testing_support::TestGraph;

/// Pulls `ids` and checks all their bytes.
void expect_pull(Plane& plane, const TestGraph& graph, std::span<const NodeId> ids, bool keep) {
  const auto memory = std::make_shared<AlignedBytes>(ids.size() * graph.row_bytes() + 1);
  const auto ticket = plane.pull(0, ids, graph.row_bytes(), memory->data(), keep ? memory : nullptr);
  const auto moved = plane.wait(ticket);
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_EQ(moved.value().rows, ids.size());
  EXPECT_EQ(moved.value().payload_bytes, ids.size() * graph.row_bytes());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(graph.row_is_right(ids[i], memory->data() + i * graph.row_bytes())) << "row " << i;
  }
}

TEST(Plane, PlacesEveryRowWhateverTheSizesOfRowsAndRequests) {
  for (const std::size_t features : {1U, 7U, 33U}) {
    GraphShape shape;
    shape.features = features;
    shape.dtype = features == 7 ? DType::kF16 : DType::kF32;
    const TestGraph graph(shape);
    for (const std::size_t request_bytes : {std::size_t{1}, 5 * graph.row_bytes(), std::size_t{1} << 20}) {
      for (const std::uint32_t credits : {1U, 3U}) {
        PlaneOptions options;
        options.request_bytes = request_bytes;
        options.credits = credits;
        Cluster cluster(graph, options);
        for (const std::size_t count : {1U, 2U, 50U, 400U}) {
          expect_pull(cluster[1], graph, graph.remote_nodes(1, count, count), count % 2 == 0);
        }
        EXPECT_EQ(cluster[1].discarded_frames(), 0U);
      }
    }
  }
}

TEST(Plane, CountsAllBytesOfAPull) {
  const TestGraph graph(GraphShape{});
  PlaneOptions options;
  options.request_bytes = 10 * graph.row_bytes();
  Cluster cluster(graph, options);
  const auto before = cluster[0].counters();
  const auto ids = graph.remote_nodes(0, 77, 3);
  AlignedBytes rows(ids.size() * graph.row_bytes());
  const auto moved = cluster[0].wait(cluster[0].pull(0, ids, graph.row_bytes(), rows.data()));
  ASSERT_TRUE(moved.ok());
  const auto after = cluster[0].counters();
  EXPECT_EQ(moved.value().wire_bytes,
            after.sent_bytes - before.sent_bytes + after.received_bytes - before.received_bytes);
  EXPECT_EQ(moved.value().messages,
            after.sent_messages - before.sent_messages + after.received_messages - before.received_messages);
}

TEST(Plane, PullsOfNothingAreDoneAtOnce) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  const auto moved = cluster[0].wait(cluster[0].pull(0, {}, graph.row_bytes(), nullptr));
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved.value().messages, 0U);
}

TEST(Plane, RefusesToPullItsOwnAndUnknownNodes) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  AlignedBytes row(graph.row_bytes());
  const std::array own = {graph.graph().book().begin(1)};
  EXPECT_THAT(cluster[1].wait(cluster[1].pull(0, own, graph.row_bytes(), row.data())).error().message,
              HasSubstr("which rank 1 owns itself"));
  const std::array beyond = {graph.graph().book().nodes()};
  EXPECT_THAT(cluster[1].wait(cluster[1].pull(0, beyond, graph.row_bytes(), row.data())).error().message,
              HasSubstr("the graph has 600"));
}

TEST(Plane, ServesManyThreadsAtOnce) {
  const TestGraph graph(GraphShape{});
  PlaneOptions options;
  options.request_bytes = 16 * graph.row_bytes();
  options.credits = 2;
  Cluster cluster(graph, options);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < 20; ++round) {
        const auto rank = static_cast<Rank>(t % 3);
        expect_pull(cluster[rank], graph, graph.remote_nodes(rank, 100, t * 100 + round), t % 2 == 0);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(Plane, OtherTablesHaveOtherRows) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  const auto& book = graph.graph().book();
  std::vector<std::byte> hidden(static_cast<std::size_t>(book.size(2)) * 3);
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    hidden[i] = static_cast<std::byte>(i);
  }
  cluster[2].publish(9, hidden, 3);
  const std::array ids = {book.begin(2) + 1, book.begin(2) + 4};
  std::array<std::byte, 6> rows{};
  ASSERT_TRUE(cluster[0].wait(cluster[0].pull(9, ids, 3, rows.data())).ok());
  EXPECT_THAT(rows, ElementsAre(std::byte{3}, std::byte{4}, std::byte{5}, std::byte{12}, std::byte{13},
                                std::byte{14}));
}

TEST(Plane, RequestsWaitForTheirTableAndAreRefusedWhenItNeverComes) {
  const TestGraph graph(GraphShape{});
  PlaneOptions options;
  options.deadline = from_seconds(0.6);
  Cluster cluster(graph, options);
  const auto& book = graph.graph().book();
  const std::array ids = {book.begin(2)};
  std::array<std::byte, 2> row{};
  const auto early = cluster[0].pull(4, ids, 2, row.data());
  const std::vector<std::byte> table(static_cast<std::size_t>(book.size(2)) * 2, std::byte{42});
  cluster[2].publish(4, table, 2);
  ASSERT_TRUE(cluster[0].wait(early).ok());
  EXPECT_THAT(row, ElementsAre(std::byte{42}, std::byte{42}));

  cluster[2].withdraw(4);
  const auto never = cluster[0].wait(cluster[0].pull(4, ids, 2, row.data()));
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(never.error().message,
              AllOf(HasSubstr("rank 2 (host host2) refused"), HasSubstr("table 4 has not been published")));
}

TEST(Plane, AnswersWithOtherSizesAreAnError) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  const std::array ids = {graph.graph().book().begin(1)};
  std::vector<std::byte> row(2 * graph.row_bytes());
  const auto moved = cluster[0].wait(cluster[0].pull(0, ids, 2 * graph.row_bytes(), row.data()));
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().message,
              AllOf(HasSubstr("rank 1 (host host1)"), HasSubstr("(28 bytes)"), HasSubstr("(56 bytes)")));
}

TEST(Plane, NamesADeadPeerInRunningAndLaterPulls) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  const std::array ids = {graph.graph().book().begin(1)};
  std::array<std::byte, 2> row{};
  const auto running = cluster[0].pull(7, ids, 2, row.data());  // waits there for its table
  cluster.kill(1);
  const auto failed = cluster[0].wait(running);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Errc::kPeer);
  EXPECT_THAT(failed.error().message, HasSubstr("rank 1 (host host1)"));
  const auto later = cluster[0].wait(cluster[0].pull(0, ids, graph.row_bytes(), row.data()));
  EXPECT_THAT(later.error().message, HasSubstr("rank 1 (host host1)"));
  EXPECT_THAT(cluster[0].find_failed_peers(from_seconds(5)), ElementsAre(HasSubstr("rank 1 (host host1)")));
  expect_pull(cluster[0], graph, std::array{graph.graph().book().begin(2)}, false);
}

TEST(Plane, OneRankAloneNeedsNobody) {
  GraphShape shape;
  shape.parts = 1;
  const TestGraph graph(shape);
  Cluster cluster(graph);
  EXPECT_THAT(cluster[0].find_failed_peers(from_seconds(5)), IsEmpty());
  EXPECT_TRUE(cluster[0].wait(cluster[0].pull(0, {}, graph.row_bytes(), nullptr)).ok());
}

TEST(Plane, LivePeersAnswerPings) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  EXPECT_THAT(cluster[0].find_failed_peers(from_seconds(5)), IsEmpty());
  EXPECT_THAT(cluster[0].find_failed_peers(from_seconds(5)), IsEmpty());
}

TEST(Plane, CancelFailsWaitsNowAndLater) {
  const TestGraph graph(GraphShape{});
  Cluster cluster(graph);
  const std::array ids = {graph.graph().book().begin(1)};
  std::array<std::byte, 2> row{};
  const auto running = cluster[0].pull(7, ids, 2, row.data());
  std::thread other([&] { cluster[0].cancel(Error{Errc::kPeer, "rank 5 went home"}); });
  EXPECT_EQ(cluster[0].wait(running).error().message, "rank 5 went home");
  other.join();
  EXPECT_EQ(cluster[0].wait(cluster[0].pull(0, ids, 2, row.data())).error().message, "rank 5 went home");
}

TEST(Plane, CanBeDestroyedWithPullsInFlight) {
  const TestGraph graph(GraphShape{});
  PlaneOptions options;
  options.request_bytes = 2 * graph.row_bytes();
  const auto ids = graph.remote_nodes(0, 400, 1);
  for (int round = 0; round < 20; ++round) {
    Cluster cluster(graph, options);
    std::vector<std::shared_ptr<Ticket>> tickets;
    for (Rank r = 0; r < cluster.world(); ++r) {
      const auto remote = graph.remote_nodes(r, 300, static_cast<std::uint64_t>(round));
      auto memory = std::make_shared<AlignedBytes>(remote.size() * graph.row_bytes());
      static_cast<void>(cluster[r].pull(0, remote, graph.row_bytes(), memory->data(), memory));
    }
    if (round % 2 == 0) {
      cluster.kill(static_cast<Rank>(round / 2 % 3));
    }
  }
}

TEST(Plane, PlanesOfDifferentGraphsRefuseEachOtherOnBothSides) {
  GraphShape shape;
  shape.parts = 2;
  const TestGraph one(shape);
  shape.seed = 6;
  const TestGraph other(shape);
  const auto rendezvous = std::make_shared<transport::LocalRendezvous>();
  auto transports = transport::make_loopback_transports(2);
  std::array<std::string, 2> messages;
  std::vector<std::thread> threads;
  for (Rank r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      PlaneOptions options;
      options.rank = r;
      options.world = 2;
      options.host = r == 0 ? "left" : "right";
      const auto plane =
          Plane::create(r == 0 ? one.graph() : other.graph(), std::move(transports[r]), *rendezvous, options);
      messages[r] = plane.ok() ? "agreed" : plane.error().message;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::string& digest = one.graph().graph_digest();
  const std::string& other_digest = other.graph().graph_digest();
  EXPECT_EQ(messages[0], "rank 1 (host right) disagrees: graph digest '" + other_digest + "' there, '" +
                             digest + "' here");
  EXPECT_EQ(messages[1],
            "rank 0 (host left) disagrees: graph digest '" + digest + "' there, '" + other_digest + "' here");
}

TEST(Plane, RefusesAPartitionForAnotherNumberOfRanks) {
  const TestGraph graph(GraphShape{});
  const auto rendezvous = std::make_shared<transport::LocalRendezvous>();
  PlaneOptions options;
  options.world = 2;
  const auto plane = Plane::create(graph.graph(), std::move(transport::make_loopback_transports(2)[0]),
                                   *rendezvous, options);
  ASSERT_FALSE(plane.ok());
  EXPECT_THAT(plane.error().message, HasSubstr("has 3 parts, but there are 2 ranks"));
}

}  // namespace
}  // namespace rudder::dataplane
