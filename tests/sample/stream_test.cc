// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/stream.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample/test_graphs.h"
#include "support/same_batch.h"

namespace rudder::sample {
namespace {

using std::chrono::seconds;
using test::OwnedCsc;
using test::random_nodes;
using test::same_batch;
using test::skewed;
using ::testing::HasSubstr;

Deadline soon() {
  return Deadline::in(seconds(60));
}

/// A graph with training nodes for two ranks.
struct World {
  OwnedCsc graph = skewed(3000, 1);
  std::vector<NodeId> first = random_nodes(3000, 400, 1);
  std::vector<NodeId> second = random_nodes(3000, 390, 2);
  Schedule schedule = Schedule::create(11, 32, {first, second}).value();

  [[nodiscard]] StreamOptions options(std::size_t threads, std::size_t ahead) const {
    StreamOptions result;
    result.rank = 1;
    result.epochs = 3;
    result.fanout = {10, 5};
    result.threads = threads;
    result.ahead = ahead;
    return result;
  }
};

TEST(SampleStream, DeliversTheScheduledBatchesInOrderAtAnyThreadCount) {
  const World world;
  std::vector<SampledBatch> expected;
  NeighborSampler sampler(world.graph.view(), {10, 5}, 11);
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint32_t batch = 0; batch < world.schedule.steps_per_epoch(); ++batch) {
      const BatchKey key{epoch, batch, 1};
      sampler.sample(world.schedule.seeds(key), key, world.schedule.global_batch(key),
                     expected.emplace_back());
    }
  }
  for (const std::size_t threads : {0U, 1U, 2U, 8U}) {
    for (const std::size_t ahead : {0U, 1U, 5U, 100U}) {
      SampleStream stream(world.graph.view(), world.schedule, world.options(threads, ahead));
      ASSERT_EQ(stream.total(), expected.size());
      for (std::size_t step = 0; step < expected.size(); ++step) {
        Result<SampledBatch> batch = stream.next(soon());
        ASSERT_TRUE(batch.ok()) << batch.error().message;
        ASSERT_TRUE(same_batch(*batch, expected[step]))
            << "step " << step << ", " << threads << " threads, " << ahead << " ahead";
        if (step % 3 != 0) {
          stream.recycle(std::move(batch).value());
        }
      }
      const Error end = stream.next(soon()).error();
      EXPECT_EQ(end.code, Errc::kInvalidArgument);
      EXPECT_THAT(end.message, HasSubstr("39 batches of rank 1"));
    }
  }
}

TEST(SampleStream, RunsAheadAsFarAsAllowedAndNoFurther) {
  const World world;
  constexpr std::size_t kAhead = 4;
  SampleStream stream(world.graph.view(), world.schedule, world.options(3, kAhead));
  for (std::uint64_t step = 0; step < stream.total(); ++step) {
    const std::size_t reachable = std::min<std::size_t>(kAhead, stream.total() - step);
    const Deadline deadline = soon();
    while (stream.waiting() < reachable && !deadline.passed()) {
      std::this_thread::yield();
    }
    ASSERT_EQ(stream.waiting(), reachable) << "step " << step;
    ASSERT_TRUE(stream.next(soon()).ok());
  }
  EXPECT_EQ(stream.waiting(), 0U);
}

TEST(SampleStream, SamplesNothingAheadWithoutThreads) {
  const World world;
  SampleStream stream(world.graph.view(), world.schedule, world.options(0, 4));
  ASSERT_TRUE(stream.next(soon()).ok());
  EXPECT_EQ(stream.waiting(), 0U);
}

TEST(SampleStream, StopEndsAConsumerOnAnotherThread) {
  const World world;
  for (const std::size_t threads : {0U, 1U, 4U}) {
    StreamOptions options = world.options(threads, 2);
    options.epochs = 1'000'000'000;  // would not end by itself
    SampleStream stream(world.graph.view(), world.schedule, options);
    std::promise<void> running;
    std::future<Error> consumer = std::async(std::launch::async, [&] {
      for (int i = 0;; ++i) {
        Result<SampledBatch> batch = stream.next(soon());
        if (!batch.ok()) {
          return batch.error();
        }
        if (i == 20) {
          running.set_value();
        }
      }
    });
    running.get_future().wait();
    stream.stop();
    const Error error = consumer.get();
    EXPECT_EQ(error.code, Errc::kCancelled);
    EXPECT_THAT(error.message, HasSubstr("rank 1"));
    EXPECT_EQ(stream.next(soon()).error().code, Errc::kCancelled);
  }
}

TEST(SampleStream, EndsItsThreadsWhenDestroyedEarly) {
  const World world;
  for (int taken = 0; taken < 6; ++taken) {
    SampleStream stream(world.graph.view(), world.schedule, world.options(4, 3));
    for (int i = 0; i < taken; ++i) {
      ASSERT_TRUE(stream.next(soon()).ok());
    }
  }
}

TEST(SampleStream, NamesTheBatchThatMissedItsDeadlineAndDeliversItLater) {
  const OwnedCsc graph = skewed(60'000, 2);
  const std::vector<NodeId> train = random_nodes(60'000, 60'000, 1);
  const Schedule schedule = Schedule::create(1, 60'000, {train}).value();
  StreamOptions options;
  options.fanout = {-1, -1};
  // The batch takes many milliseconds, so a deadline in the past is missed unless this thread is held up as
  // long: some of the tries miss it.
  std::optional<Error> missed;
  for (int attempt = 0; attempt < 50 && !missed; ++attempt) {
    SampleStream stream(graph.view(), schedule, options);
    const Result<SampledBatch> batch = stream.next(Deadline::in(seconds(0)));
    if (!batch.ok()) {
      missed = batch.error();
      const Result<SampledBatch> late = stream.next(soon());
      ASSERT_TRUE(late.ok());
      EXPECT_EQ(late->nodes.size(), 60'000U);
    }
  }
  ASSERT_TRUE(missed.has_value());
  EXPECT_EQ(missed->code, Errc::kTimeout);
  EXPECT_THAT(missed->message, HasSubstr("sampling threads of rank 0 did not finish batch 0 of epoch 0"));
}

}  // namespace
}  // namespace rudder::sample
