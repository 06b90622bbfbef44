// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/observer.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steer/asked_rows.h"
#include "steer/observed_run.h"
#include "steer/windows.h"

namespace rudder::steer {
namespace {

using ::testing::HasSubstr;
using testing_support::asked_rows;
using testing_support::literal_window;
using testing_support::planned_run;
using testing_support::PlannedBatch;

std::unique_ptr<Observer> observer(const ObserverOptions& options) {
  Result<std::unique_ptr<Observer>> made = Observer::create(options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

class ObserverOfPolicy : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Table, ObserverOfPolicy,
                         ::testing::Values("lru", "lookahead", "score", "fixed-window", "hotset", "sieve"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Everything of every window, against sums and sets over the batches themselves.
TEST_P(ObserverOfPolicy, GivesTheWindowsThatALiteralReadingGives) {
  constexpr std::size_t kBatches = 5;
  constexpr SlotId kSlots = 120;
  const std::vector<PlannedBatch> run = planned_run(GetParam(), kSlots, 900, 90, 103, 1);
  const auto watching = observer({.batches = kBatches,
                                  .steps_total = 103,
                                  .owners = 4,
                                  .self = 3,
                                  .slots = kSlots,
                                  .rows = 8192,
                                  .windows = 64});
  for (const PlannedBatch& each : run) {
    watching->batch(each.observed);
  }
  watching->end_window();
  watching->end_window();  // nothing to end
  std::set<NodeId> asked_before;
  std::uint64_t hits = 0;
  for (std::size_t first = 0; first < run.size(); first += kBatches) {
    const std::size_t end = std::min(first + kBatches, run.size());
    Window expected = literal_window(run, first, end, asked_before);
    expected.sequence = first / kBatches;
    expected.steps_total = 103;
    expected.owners = 4;
    expected.self = 3;
    Window window;
    ASSERT_TRUE(watching->ring().take(window));
    EXPECT_EQ(window.fresh, expected.fresh) << first;
    EXPECT_EQ(window.stale, expected.stale) << first;
    EXPECT_EQ(window, expected) << first;
    asked_before = asked_rows(run, first, end);
    hits += window.counts.hits;
  }
  Window window;
  EXPECT_FALSE(watching->ring().take(window));
  EXPECT_EQ(watching->forgotten(), 0U);
  EXPECT_GT(hits, 0U);
}

TEST(ObserverTest, TellsTheHitRateOfAWindowNotOfTheRun) {
  const auto watching = observer({.batches = 1});
  for (const std::uint64_t hits : {0U, 0U, 0U, 90U}) {
    ObservedBatch batch;
    batch.counts = {100, hits, 100 - hits, 0};
    watching->batch(batch);
    Window window;
    ASSERT_TRUE(watching->ring().take(window));
    EXPECT_DOUBLE_EQ(metric_table()[kHitRate].value(window), static_cast<double>(hits) / 100);
  }
}

TEST(ObserverTest, EndsAWindowWhenTheActionOrThePhaseChanges) {
  const auto watching = observer({.batches = 4});
  const auto show = [&](StepId step, bool training) {
    ObservedBatch batch;
    batch.step = step;
    batch.training = training;
    watching->batch(batch);
  };
  const auto expect = [&](StepId first, StepId end, std::size_t action, bool training) {
    Window window;
    ASSERT_TRUE(watching->ring().take(window));
    EXPECT_EQ(window.first, first);
    EXPECT_EQ(window.end, end);
    EXPECT_EQ(window.action, action);
    EXPECT_EQ(window.training, training);
  };
  watching->holds(2);
  for (StepId step = 0; step < 6; ++step) {
    show(step, true);
  }
  watching->holds(2);  // no change
  watching->holds(1);
  show(6, true);
  show(7, false);
  show(8, false);
  show(9, true);
  watching->end_window();
  expect(0, 4, 2, true);
  expect(4, 6, 2, true);
  expect(6, 7, 1, true);
  expect(7, 9, 1, false);
  expect(9, 10, 1, true);
}

TEST(ObserverTest, CountsOwnersBeyondTheLastPlaceWithTheLast) {
  const auto watching = observer({.batches = 1, .owners = kMaxOwners + 3});
  const std::vector<OwnerLoad> owners(kMaxOwners + 3, OwnerLoad{2, 0.5, 1});
  ObservedBatch batch;
  batch.owners = owners;
  watching->batch(batch);
  Window window;
  ASSERT_TRUE(watching->ring().take(window));
  EXPECT_EQ(window.owner[kMaxOwners - 2], (OwnerLoad{2, 0.5, 1}));
  EXPECT_EQ(window.owner[kMaxOwners - 1], (OwnerLoad{8, 2, 4}));
}

TEST(ObserverTest, AsksTheHostOnceAWindowAndKeepsTheLastAnswer) {
  class Load final : public HostLoad {
   public:
    [[nodiscard]] std::optional<double> busy() noexcept override {
      ++asked;
      return asked == 2 ? std::nullopt : std::optional(0.25 * asked);
    }
    [[nodiscard]] bool device() const noexcept override { return true; }
    int asked = 0;
  };
  Load load;
  const auto watching = observer({.batches = 2, .host = &load});
  for (StepId step = 0; step < 6; ++step) {
    ObservedBatch batch;
    batch.step = step;
    watching->batch(batch);
  }
  EXPECT_EQ(load.asked, 3);
  for (const double busy : {0.25, 0.25, 0.75}) {
    Window window;
    ASSERT_TRUE(watching->ring().take(window));
    EXPECT_EQ(window.busy, busy);
    EXPECT_TRUE(window.device);
  }
}

TEST(ObserverTest, OfOneRowInSoManyEstimatesTheSameShares) {
  const std::vector<PlannedBatch> run = planned_run("lru", 8000, 40'000, 6000, 32, 2);
  const auto exact = observer({.slots = 8000, .rows = 1U << 20});
  const auto sample = observer({.slots = 8000, .rows = 1U << 17, .follow = 8});
  for (const PlannedBatch& each : run) {
    exact->batch(each.observed);
    sample->batch(each.observed);
  }
  Window all;
  Window some;
  for (int i = 0; exact->ring().take(all); ++i) {
    ASSERT_TRUE(sample->ring().take(some));
    EXPECT_NEAR(metric_table()[kFreshShare].value(some), metric_table()[kFreshShare].value(all), 0.05) << i;
    EXPECT_NEAR(metric_table()[kStaleShare].value(some), metric_table()[kStaleShare].value(all), 0.05) << i;
    some.fresh = all.fresh;
    some.stale = all.stale;
    EXPECT_EQ(some, all);
  }
}

std::string refusal(const ObserverOptions& options) {
  const auto made = Observer::create(options);
  return made.ok() ? "" : made.error().message;
}

TEST(ObserverTest, OptionsOutOfRangeAreNamed) {
  EXPECT_THAT(refusal({.batches = 0}), HasSubstr("batches 0 is not within"));
  EXPECT_THAT(refusal({.slots = std::size_t{1} << 33}), HasSubstr("slots 8589934592"));
  EXPECT_THAT(refusal({.rows = 0}), HasSubstr("rows 0"));
  EXPECT_THAT(refusal({.follow = 3}), HasSubstr("follow 3 is not a power of 2"));
  EXPECT_THAT(refusal({.windows = 0}), HasSubstr("windows 0"));
}

/// Against sets, window by window, at the size that the memory is made for.
TEST(AskedRowsTest, AreTheRowsOfTwoWindows) {
  CounterRng rng({3});
  AskedRows asked(4000);
  std::set<NodeId> before;
  std::set<NodeId> now;
  std::uint64_t wrong = 0;
  for (int window = 0; window < 200; ++window) {
    for (int i = 0; i < 2000; ++i) {
      const auto row = static_cast<NodeId>(rng.below(3000));
      const std::uint64_t hash = mix64(static_cast<std::uint64_t>(row));
      wrong += asked.asked(row, hash) == (now.count(row) > 0) ? 0U : 1U;
      wrong += asked.ask(row, hash) == (before.count(row) == 0) ? 0U : 1U;
      now.insert(row);
    }
    before = std::exchange(now, {});
    asked.next_window();
  }
  EXPECT_LE(wrong, 2 * asked.forgotten());
  EXPECT_LE(asked.forgotten(), 20U);  // of 400,000
}

TEST(AskedRowsTest, ForgetTheOldestWhenTheyAreTooManyAndCountThem) {
  AskedRows asked(10);
  for (NodeId row = 0; row < 10'000; ++row) {
    const std::uint64_t hash = mix64(static_cast<std::uint64_t>(row));
    EXPECT_TRUE(asked.ask(row, hash));
    EXPECT_TRUE(asked.asked(row, hash));
  }
  EXPECT_GT(asked.forgotten(), 9'000U);
  asked.next_window();
  asked.next_window();
  const std::uint64_t before = asked.forgotten();
  EXPECT_TRUE(asked.ask(1, mix64(1)));
  EXPECT_EQ(asked.forgotten(), before);  // what is older than two windows makes room by itself
}

}  // namespace
}  // namespace rudder::steer
