// SPDX-License-Identifier: Apache-2.0
// Feeds whose buffer changes its policy, size and pace while it runs.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/steersman.h"
#include "rudder/core/rng.h"
#include "rudder/dataplane/feed.h"

#include "dataplane/cluster.h"

namespace rudder::dataplane {
namespace {

using ::testing::HasSubstr;
using testing_support::Cluster;
using testing_support::GraphShape;
using testing_support::TestGraph;

constexpr SlotId kSlots = 40;

/// Answers of a helm, by batch.
using Log = std::vector<std::optional<cache::Steer>>;

/// Says again what a log says.
class LoggedHelm final : public cache::Helm {
 public:
  explicit LoggedHelm(Log log) : log_(std::move(log)) {}
  [[nodiscard]] std::optional<cache::Steer> before(StepId step) override { return log_.at(step); }

 private:
  Log log_;
};

/// Steers at random, and keeps all that it said and heard.
class RandomSteersman final : public cache::Steersman {
 public:
  explicit RandomSteersman(std::uint64_t seed) : rng_({seed, 3}) {}

  [[nodiscard]] cache::SteerTerms terms(SlotId slots, const cache::PolicySettings& settings) const override {
    return {.first = {"score", slots, 5, false},
            .policies = {"score", "lru", "lookahead"},
            .ahead = 5,
            .settings = settings};
  }
  [[nodiscard]] Status begin(const cache::Planner& planner,
                             std::shared_ptr<const cache::PolicyContext> known) override {
    context = std::move(known);
    copy = std::make_unique<cache::Planner>(planner, &helm);
    return refuse ? Status(Error{Errc::kInvalidArgument, "no steering here"}) : Status();
  }
  [[nodiscard]] std::optional<cache::Steer> before(StepId step) override {
    EXPECT_EQ(step, log.size());
    if (step % 3 != 0 || rng_.below(3) == 0) {
      log.emplace_back();
    } else {
      static constexpr std::array<const char*, 3> kPolicies = {"score", "lru", "lookahead"};
      const std::string policy = kPolicies[rng_.below(3)];
      log.push_back(cache::Steer{policy, static_cast<SlotId>(rng_.below(kSlots + 1)),
                                 1 + static_cast<std::uint32_t>(rng_.below(5)), rng_.below(2) == 0});
      pace_ = {.depth = static_cast<std::uint32_t>(rng_.below(5)),
               .bytes_per_second = rng_.below(2) == 0 ? 0 : 1e7,
               .staged_rows = 30 * rng_.below(2)};
    }
    return log.back();
  }
  void pushed(StepId step, std::span<const NodeId> rows) override {
    EXPECT_EQ(step, batches.size());
    batches.emplace_back(rows.begin(), rows.end());
  }
  void planned(const cache::Plan& plan, const cache::Planner& planner) override {
    if (plan.fill) {
      return;
    }
    EXPECT_EQ(batches.at(plan.step), plan.rows);
    // What a policy may want to know is known, to the run's end.
    EXPECT_GE(batches.size(), std::min<std::uint64_t>(plan.step + 1 + 5, context->steps));
    EXPECT_EQ(planner.queued().size(), batches.size() - plan.step - 1);
  }
  [[nodiscard]] cache::Pace pace() const override { return pace_; }

  bool refuse = false;
  Log log;
  std::vector<std::vector<NodeId>> batches;
  std::shared_ptr<const cache::PolicyContext> context;
  LoggedHelm helm{{}};
  std::unique_ptr<cache::Planner> copy;  ///< of the planner before it planned anything

 private:
  CounterRng rng_;
  cache::Pace pace_{.depth = 4};
};

class SteeredFeedTest : public ::testing::Test {
 protected:
  static GraphShape three_parts() {
    GraphShape shape;
    shape.parts = 3;
    return shape;
  }
  Result<std::unique_ptr<BatchSource>> feed(Cluster& cluster, cache::Steersman& steersman) {
    FeedOptions options;
    options.fanout = {3, 4};
    options.epochs = 4;
    options.batch = 10;
    BufferOptions buffer;
    buffer.policy = "score";
    buffer.slots = kSlots;
    buffer.depth = 4;
    buffer.steersman = &steersman;
    return make_embedded_feed({graph_.graph(), std::span(&graph_.part(0), 1), schedule_, 0}, cluster[0],
                              options, buffer);
  }

  TestGraph graph_{three_parts()};
  const sample::Schedule schedule_ = sample::Schedule::create(11, 10, graph_.train()).value();
};

TEST_F(SteeredFeedTest, GivesTheRowsOfTheSourceAndTheCountsOfAPlannerThatIsSteeredAlike) {
  Cluster cluster(graph_);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomSteersman steersman(seed);
    std::vector<cache::Counts> live;
    {
      auto source = feed(cluster, steersman);
      ASSERT_TRUE(source.ok()) << source.error().message;
      for (StepId step = 0; step < (*source)->total(); ++step) {
        auto batch = (*source)->next();
        ASSERT_TRUE(batch.ok()) << batch.error().message;
        live.push_back(batch->counts);
        EXPECT_EQ(batch->transfer.rows, batch->counts.fetched);
        for (std::size_t i = 0; i < batch->sampled.nodes.size(); ++i) {
          ASSERT_TRUE(
              graph_.row_is_right(batch->sampled.nodes[i], batch->rows.data() + i * graph_.row_bytes()));
        }
      }
    }
    ASSERT_EQ(steersman.log.size(), live.size());
    LoggedHelm helm(steersman.log);
    cache::Planner again(*steersman.copy, &helm);
    std::vector<cache::Counts> counts(live.size());
    for (const std::vector<NodeId>& rows : steersman.batches) {
      again.push(rows);
    }
    again.finish();
    while (!again.done()) {
      const cache::Plan plan = again.next();
      counts[plan.fill ? 0 : plan.step] += plan.counts;
    }
    EXPECT_EQ(live, counts);
  }
}

TEST_F(SteeredFeedTest, IsLeftAtAnyMoment) {
  Cluster cluster(graph_);
  for (const StepId steps : {0U, 1U, 5U}) {
    RandomSteersman steersman(steps);
    auto source = feed(cluster, steersman);
    ASSERT_TRUE(source.ok());
    for (StepId step = 0; step < steps; ++step) {
      ASSERT_TRUE((*source)->next().ok());
    }
  }
}

TEST_F(SteeredFeedTest, AnErrorOfTheSteersmanKeepsItFromBeingMade) {
  Cluster cluster(graph_);
  RandomSteersman steersman(1);
  steersman.refuse = true;
  const auto source = feed(cluster, steersman);
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(source.error().message, HasSubstr("no steering here"));
}

TEST_F(SteeredFeedTest, ThePlaneTellsWhatEachOwnerAnswered) {
  Cluster cluster(graph_);
  RandomSteersman steersman(2);
  auto source = feed(cluster, steersman);
  ASSERT_TRUE(source.ok());
  std::uint64_t fetched = 0;
  for (StepId step = 0; step < (*source)->total(); ++step) {
    const auto batch = (*source)->next();
    ASSERT_TRUE(batch.ok());
    fetched += batch->counts.fetched;
  }
  std::array<OwnerTraffic, 3> owners{};
  const double moving = cluster[0].traffic(owners);
  EXPECT_EQ(owners[0].answers, 0U);
  EXPECT_EQ(owners[1].rows + owners[2].rows, fetched);
  for (const OwnerTraffic& owner : {owners[1], owners[2]}) {
    EXPECT_GT(owner.answers, 0U);
    EXPECT_GT(owner.least_seconds, 0);
    EXPECT_GE(owner.seconds, owner.least_seconds * static_cast<double>(owner.answers));
    EXPECT_GT(owner.busy_seconds, 0);
    EXPECT_LE(owner.busy_seconds, moving * 1.0001);
  }
  EXPECT_LE(moving, (owners[1].busy_seconds + owners[2].busy_seconds) * 1.0001);
}

}  // namespace
}  // namespace rudder::dataplane
