// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/planner.h"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::LiteralMachine;

/// A policy made of closures, which notes all calls.
class Scripted final : public Cloneable<Scripted> {
 public:
  std::function<void(Residency&)> on_start;
  std::function<bool()> on_wants_more;
  std::function<void(const Request&, Residency&)> on_serve;
  std::vector<std::string>* calls = nullptr;

  void start(Residency& buffer) override {
    note("start");
    if (on_start) {
      on_start(buffer);
    }
  }
  [[nodiscard]] bool wants_more() const override { return on_wants_more && on_wants_more(); }
  void reveal(StepId step, std::span<const NodeId> /*rows*/) override {
    note("reveal " + std::to_string(step));
  }
  void serve(const Request& request, Residency& buffer) override {
    note("serve " + std::to_string(request.step));
    if (on_serve) {
      on_serve(request, buffer);
    }
  }

 private:
  void note(std::string call) const {
    if (calls != nullptr) {
      calls->push_back(std::move(call));
    }
  }
};

std::vector<std::pair<std::uint32_t, SlotId>> pairs(const std::vector<Admission>& admissions) {
  std::vector<std::pair<std::uint32_t, SlotId>> result;
  for (const Admission& admission : admissions) {
    result.emplace_back(admission.staged, admission.slot);
  }
  return result;
}

/// Plans one batch after a fill of rows 10, 11, 12 into slots 0, 1, 2 of four.
Plan plan_one(std::vector<NodeId> rows, std::function<void(const Request&, Residency&)> serve) {
  auto policy = std::make_unique<Scripted>();
  policy->on_start = [](Residency& buffer) {
    for (const NodeId row : {10, 11, 12}) {
      buffer.place(buffer.free_slot(), row);
    }
  };
  policy->on_serve = std::move(serve);
  Planner planner(std::move(policy), 4, 1);
  LiteralMachine machine(4, 1);
  planner.push(std::move(rows));
  planner.finish();
  const Plan fill = planner.next();
  machine.apply(fill, planner.residency());
  Plan plan = planner.next();
  machine.apply(plan, planner.residency());
  EXPECT_TRUE(planner.done());
  EXPECT_EQ(planner.totals().fetched, fill.counts.fetched + plan.counts.fetched);
  return plan;
}

TEST(Planner, FetchesTheFillBeforeTheFirstBatch) {
  auto policy = std::make_unique<Scripted>();
  policy->on_start = [](Residency& buffer) {
    buffer.place(1, 7);
    buffer.place(0, 9);
  };
  Planner planner(std::move(policy), 2, 4);
  EXPECT_TRUE(planner.wants_input());
  planner.push({7, 8});
  const Plan fill = planner.next();
  EXPECT_TRUE(fill.fill);
  EXPECT_THAT(fill.rows, IsEmpty());
  EXPECT_THAT(fill.fetch, ElementsAre(7, 9));
  EXPECT_THAT(pairs(fill.admissions), ElementsAre(std::pair(0U, 1U), std::pair(1U, 0U)));
  const Plan first = planner.next();
  EXPECT_FALSE(first.fill);
  EXPECT_EQ(first.step, 0U);
  EXPECT_FALSE(first.sources[0].staged);
  EXPECT_EQ(first.sources[0].place, 1U);
  EXPECT_TRUE(first.sources[1].staged);
  EXPECT_EQ(planner.totals().requests, 2U);
  EXPECT_EQ(planner.totals().hits, 1U);
  EXPECT_EQ(planner.totals().fetched, 3U);
  EXPECT_EQ(planner.totals().bypassed, 1U);
}

TEST(Planner, KeepsOnlyTheLastRowOfASlotOverwrittenInOneServe) {
  const Plan plan = plan_one({10, 20, 21, 22}, [](const Request& /*request*/, Residency& buffer) {
    buffer.place(0, 20);
    buffer.place(0, 21);
    buffer.place(0, 22);
  });
  EXPECT_THAT(plan.fetch, ElementsAre(20, 21, 22));
  EXPECT_THAT(pairs(plan.admissions), ElementsAre(std::pair(2U, 0U)));
  EXPECT_EQ(plan.counts.bypassed, 2U);
  EXPECT_EQ(plan.counts.hits, 1U);
}

TEST(Planner, FetchesRowsPlacedWithoutAMissAsExtras) {
  const Plan plan = plan_one({11, 20}, [](const Request& /*request*/, Residency& buffer) {
    buffer.place(3, 15);
    buffer.place(0, 25);
  });
  EXPECT_THAT(plan.fetch, ElementsAre(15, 20, 25));
  EXPECT_THAT(pairs(plan.admissions), ElementsAre(std::pair(0U, 3U), std::pair(2U, 0U)));
  EXPECT_EQ(plan.sources[1].place, 1U);
  EXPECT_EQ(plan.counts.fetched, 3U);
  EXPECT_EQ(plan.counts.bypassed, 1U);
}

TEST(Planner, ARowPutBackIntoItsSlotIsNotFetched) {
  const Plan plan = plan_one({10}, [](const Request& /*request*/, Residency& buffer) {
    buffer.clear(0);
    buffer.place(1, 30);
    buffer.place(1, 11);
    buffer.place(0, 10);
  });
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_THAT(plan.admissions, IsEmpty());
}

TEST(Planner, AnExtraThatIsDroppedAgainIsNotFetched) {
  const Plan plan = plan_one({10}, [](const Request& /*request*/, Residency& buffer) {
    buffer.place(3, 30);
    buffer.clear(3);
  });
  EXPECT_THAT(plan.fetch, IsEmpty());
}

TEST(PlannerDeathTest, AResidentRowMustNotMove) {
  const auto moves_a_hit = [] {
    static_cast<void>(plan_one({10}, [](const Request& /*request*/, Residency& buffer) {
      buffer.clear(0);
      buffer.place(3, 10);
    }));
  };
  const auto moves_another = [] {
    static_cast<void>(plan_one({20}, [](const Request& /*request*/, Residency& buffer) {
      buffer.clear(0);
      buffer.place(3, 10);
      buffer.place(0, 20);
    }));
  };
  EXPECT_DEATH(moves_a_hit(), "moved a resident row");
  EXPECT_DEATH(moves_another(), "moved a resident row");
}

TEST(PlannerDeathTest, RejectsBatchesOutOfOrder) {
  Planner planner(std::make_unique<Scripted>(), 1, 1);
  EXPECT_DEATH(planner.push({3, 2}), "ascending");
  EXPECT_DEATH(planner.push({2, 2}), "ascending");
  EXPECT_DEATH(planner.push({-1, 2}), "not negative");
  EXPECT_DEATH(static_cast<void>(planner.next()), "needs a batch");
  planner.finish();
  EXPECT_DEATH(planner.push({1}), "after finish");
}

TEST(Planner, DefersRowsThatMayStillBeInFlight) {
  Planner planner(std::make_unique<Scripted>(), 0, 3);  // keeps nothing: every row is fetched each time
  const std::vector<std::vector<NodeId>> batches = {{1, 2}, {2, 3}, {1, 4}, {3, 9}, {2, 5}, {5, 6, 9}};
  for (const auto& rows : batches) {
    planner.push(rows);
  }
  std::vector<std::pair<std::vector<NodeId>, std::uint32_t>> fetches;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Plan plan = planner.next();
    fetches.emplace_back(plan.fetch, plan.prompt);
  }
  using Fetch = std::pair<std::vector<NodeId>, std::uint32_t>;
  EXPECT_THAT(fetches, ElementsAre(Fetch({1, 2}, 2), Fetch({3, 2}, 1), Fetch({4, 1}, 1), Fetch({9, 3}, 1),
                                   Fetch({2, 5}, 2), Fetch({6, 5, 9}, 1)));
}

TEST(Planner, WithoutAHorizonNothingIsDeferred) {
  for (const std::uint32_t horizon : {0U, 1U}) {
    Planner planner(std::make_unique<Scripted>(), 0, horizon);
    for (int i = 0; i < 3; ++i) {
      planner.push({1, 2});
      EXPECT_EQ(planner.next().prompt, 2U);
    }
  }
}

TEST(Planner, RevealsTheServedBatchFirstAndOthersOnlyWhenWanted) {
  std::vector<std::string> calls;
  auto policy = std::make_unique<Scripted>();
  policy->calls = &calls;
  // Batch 2 is wanted before batch 1 is served, nothing else ahead.
  policy->on_wants_more = [&calls] { return calls.back() == "serve 0" || calls.back() == "reveal 1"; };
  Planner planner(std::move(policy), 0, 1);
  for (int i = 0; i < 4; ++i) {
    planner.push({1});
  }
  EXPECT_THAT(calls, ElementsAre("reveal 0", "start"));
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(planner.next());
  }
  EXPECT_TRUE(planner.wants_input());
  EXPECT_FALSE(planner.done());
  planner.finish();
  EXPECT_TRUE(planner.done());
  EXPECT_THAT(calls, ElementsAre("reveal 0", "start", "serve 0", "reveal 1", "reveal 2", "serve 1", "serve 2",
                                 "reveal 3", "serve 3"));
}

TEST(Planner, ServesWhatIsLeftAfterTheEndAlthoughThePolicyWantsMore) {
  auto policy = std::make_unique<Scripted>();
  policy->on_wants_more = [] { return true; };
  Planner planner(std::move(policy), 0, 1);
  planner.push({1});
  planner.push({2});
  EXPECT_TRUE(planner.wants_input());
  planner.finish();
  EXPECT_FALSE(planner.wants_input());
  EXPECT_EQ(planner.next().step, 0U);
  EXPECT_EQ(planner.next().step, 1U);
  EXPECT_TRUE(planner.done());
}

TEST(Planner, ARunWithoutBatchesMakesNoPlans) {
  auto policy = std::make_unique<Scripted>();
  policy->on_start = [](Residency& buffer) { buffer.place(0, 1); };
  Planner planner(std::move(policy), 1, 1);
  EXPECT_TRUE(planner.wants_input());
  planner.finish();
  EXPECT_FALSE(planner.wants_input());
  EXPECT_TRUE(planner.done());
}

TEST(Planner, BatchesWithoutRemoteRowsStillMakePlans) {
  Planner planner(std::make_unique<Scripted>(), 1, 2);
  planner.push({});
  planner.push({});
  planner.finish();
  EXPECT_EQ(planner.next().step, 0U);
  EXPECT_FALSE(planner.done());
  EXPECT_EQ(planner.next().step, 1U);
  EXPECT_TRUE(planner.done());
  EXPECT_EQ(planner.totals().requests, 0U);
}

}  // namespace
}  // namespace rudder::cache
