// SPDX-License-Identifier: Apache-2.0
// Sampling with one part of the structure against sampling with all of it.
#include "sample/owner_sampler.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/sample/stream.h"

#include "sample/test_graphs.h"
#include "support/same_batch.h"

namespace rudder::sample {
namespace {

using testing::SizeIs;

/// Nodes [begin, end) of a graph.
graph::CscSlice slice_of(const graph::CscView& whole, NodeId begin, NodeId end) {
  return {begin,
          {whole.indptr.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin) + 1),
           whole.indices}};
}

/// Answers from the whole structure, on the thread that waits, and checks what it is asked.
class OmniscientNeighbors final : public RemoteNeighbors {
 public:
  OmniscientNeighbors(graph::CscView whole, graph::CscSlice own) : whole_(whole), own_(own) {}

  std::unique_ptr<Question> ask(std::span<const NodeId> nodes, const HopRule& rule) override {
    EXPECT_TRUE(std::ranges::adjacent_find(nodes, std::greater_equal<>()) == nodes.end());
    EXPECT_TRUE(std::ranges::none_of(nodes, [&](NodeId v) { return own_.owns(v); }));
    EXPECT_FALSE(nodes.empty());
    return std::make_unique<Answer>(*this, nodes, rule);
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  /// From now on, waits end only when `count` are waiting at the same time.
  void hold_until(std::size_t count) {
    const std::lock_guard lock(mutex_);
    needed_ = count;
  }
  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error;
  }

 private:
  class Answer final : public Question {
   public:
    Answer(OmniscientNeighbors& from, std::span<const NodeId> nodes, const HopRule& rule)
        : from_(from), nodes_(nodes), rule_(rule) {}
    Result<AskedTraffic> wait(DrawnNeighbors& out) override {
      RUDDER_TRY(from_.pause());
      NeighborDrawer drawer({0, from_.whole_});
      drawer.draw(nodes_, rule_, out);
      return AskedTraffic{nodes_.size(), 2, 10};
    }

   private:
    OmniscientNeighbors& from_;
    std::span<const NodeId> nodes_;
    HopRule rule_;
  };

  Status pause() {
    std::unique_lock lock(mutex_);
    if (++waiting_ >= needed_) {
      needed_ = 0;
    }
    changed_.notify_all();
    const bool let_go = changed_.wait_until(lock, Deadline::in(from_seconds(20)).at(),
                                            [&] { return stopped_ || needed_ == 0; });
    EXPECT_TRUE(let_go) << waiting_ << " of " << needed_ << " wait at the same time";
    --waiting_;
    if (stopped_) {
      return Error{Errc::kCancelled, "stopped"};
    }
    return failure_ ? Status(*failure_) : Status();
  }

  graph::CscView whole_;
  graph::CscSlice own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
  std::size_t needed_ = 0;
  bool stopped_ = false;
  std::optional<Error> failure_;
};

TEST(NeighborDrawer, AppendsTheNeighboursOfEachNode) {
  test::OwnedCsc graph;
  graph.add_node({1, 2});
  graph.add_node({});
  graph.add_node({0, 1, 2});
  NeighborDrawer drawer(slice_of(graph.view(), 1, 3));
  DrawnNeighbors drawn;
  drawer.draw(std::vector<NodeId>{1, 2}, {.stream = 5, .fanout = -1}, drawn);
  drawer.draw(2, {.stream = 5, .fanout = 1}, drawn);
  drawer.draw(2, {.stream = 5, .fanout = 0}, drawn);
  EXPECT_THAT(drawn.counts, testing::ElementsAre(0, 3, 1, 0));
  ASSERT_THAT(drawn.ids, SizeIs(4));
  EXPECT_THAT(std::vector(drawn.ids.begin(), drawn.ids.begin() + 3), testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(drawer.count(2, -1), 3U);
  EXPECT_EQ(drawer.count(2, 2), 2U);
}

TEST(OwnerSampler, MakesTheBatchesOfASamplerWithTheWholeStructure) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const test::OwnedCsc graph = test::skewed(700, seed);
    for (const auto& [begin, end] : {std::pair{0, 700}, {0, 200}, {350, 700}, {300, 301}, {400, 400}}) {
      for (const std::vector<int>& fanout : {std::vector{10, 25}, {-1, -1}, {15, 10, 5}, {1}, {0, 70}}) {
        const graph::CscSlice own = slice_of(graph.view(), begin, end);
        OmniscientNeighbors remote(graph.view(), own);
        Turns turns(1);
        NeighborSampler whole(graph.view(), fanout, seed);
        OwnerSampler part(own, 700, fanout, seed, remote, turns);
        SampledBatch expected;
        SampledBatch got;  // reused, as streams do
        for (std::uint32_t b = 0; b < 5; ++b) {
          const auto seeds = test::random_nodes(700, 1 + b * 20, 100 * seed + b);
          whole.sample(seeds, {1, b, 0}, 7 * b, expected);
          const Status done = part.sample(seeds, {1, b, 0}, 7 * b, got);
          ASSERT_TRUE(done.ok()) << done.error().message;
          ASSERT_TRUE(test::same_batch(got, expected))
              << "own part [" << begin << ", " << end << "), batch " << b;
          if (end - begin == 700) {
            EXPECT_EQ(got.asked.messages, 0U);
          }
          EXPECT_LE(got.asked.messages, 2 * fanout.size()) << "one question a hop";
        }
      }
    }
  }
}

/// A stream of rank 0, which owns a third of the graph, and the batches that it must deliver.
struct OwnerWorld {
  test::OwnedCsc graph = test::skewed(900, 4);
  std::vector<NodeId> train = test::random_nodes(900, 120, 8);
  Schedule schedule = Schedule::create(21, 10, {train}).value();
  graph::CscSlice own = slice_of(graph.view(), 300, 600);
  OmniscientNeighbors remote{graph.view(), own};

  [[nodiscard]] StreamOptions options(std::size_t threads, std::size_t ahead) const {
    StreamOptions out;
    out.epochs = 3;
    out.fanout = {6, 4};
    out.threads = threads;
    out.ahead = ahead;
    return out;
  }
  [[nodiscard]] std::unique_ptr<SampleStream> stream(std::size_t threads, std::size_t ahead) {
    return std::make_unique<SampleStream>(own, 900, remote, schedule, options(threads, ahead));
  }
};

TEST(OwnerStream, DeliversTheBatchesOfTheWholeStructureAtAnyThreadCountAndLookAhead) {
  OwnerWorld world;
  for (const std::size_t threads : {0U, 1U, 2U, 8U}) {
    for (const std::size_t ahead : {1U, 4U, 32U}) {
      SampleStream whole(world.graph.view(), world.schedule, world.options(0, 1));
      OmniscientNeighbors remote(world.graph.view(), world.own);
      SampleStream part(world.own, 900, remote, world.schedule, world.options(threads, ahead));
      ASSERT_EQ(part.total(), 36U);
      for (std::uint64_t i = 0; i < part.total(); ++i) {
        auto got = part.next(Deadline::in(from_seconds(20)));
        auto expected = whole.next(Deadline::in(from_seconds(20)));
        ASSERT_TRUE(got.ok()) << got.error().message;
        ASSERT_TRUE(test::same_batch(*got, *expected)) << "batch " << i;
        part.recycle(std::move(got).value());
      }
      EXPECT_EQ(part.next(Deadline::in(from_seconds(1))).error().code, Errc::kInvalidArgument);
    }
  }
}

TEST(OwnerStream, KeepsManyBatchesWaitingForAnswersWithOneComputingThread) {
  OwnerWorld world;
  world.remote.hold_until(6);  // no batch gets on unless six wait together
  const auto stream = world.stream(1, 6);
  const auto batch = stream->next(Deadline::in(from_seconds(20)));
  EXPECT_TRUE(batch.ok()) << batch.error().message;
}

TEST(OwnerStream, AFailedOwnerEndsItWithTheOwnersErrorForGood) {
  for (const std::size_t threads : {0U, 2U}) {
    OwnerWorld world;
    const auto stream = world.stream(threads, 2);
    ASSERT_TRUE(stream->next(Deadline::in(from_seconds(20))).ok());
    world.remote.fail(Error{Errc::kPeer, "rank 1 (host b): gone"});
    std::string message;
    for (int i = 0; i < 8 && message.empty(); ++i) {
      const auto batch = stream->next(Deadline::in(from_seconds(20)));
      message = batch.ok() ? "" : batch.error().message;
    }
    EXPECT_EQ(message, "rank 1 (host b): gone");
    EXPECT_EQ(stream->next(Deadline::in(from_seconds(20))).error().message, message);
  }
}

TEST(OwnerStream, StoppingEndsWaitsForOwners) {
  OwnerWorld world;
  world.remote.hold_until(100);
  const auto stream = world.stream(2, 4);
  std::thread stopper([&] { stream->stop(); });
  EXPECT_EQ(stream->next(Deadline::in(from_seconds(20))).error().code, Errc::kCancelled);
  stopper.join();
}

TEST(OwnerStream, CanBeDestroyedWhileItsBatchesWait) {
  OwnerWorld world;
  world.remote.hold_until(100);
  world.stream(3, 9).reset();
}

}  // namespace
}  // namespace rudder::sample
