// SPDX-License-Identifier: Apache-2.0
// What holds for every policy of the table, also for those that are added later.
#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::fetched_rows;
using testing_support::make_policy;
using testing_support::plan_run;
using testing_support::Push;
using testing_support::random_scene;
using testing_support::Scene;

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policy_table()) {
    names.emplace_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPolicy, ::testing::ValuesIn(all_names()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Buffers of nothing, one row, less than a batch, about a batch, and more than the graph.
std::vector<SlotId> capacities(const Scene& scene) {
  return {0, 1, 3, 8, static_cast<SlotId>(scene.nodes), static_cast<SlotId>(scene.nodes) + 5};
}

PolicySettings settings_of(std::uint64_t seed) {
  PolicySettings settings;
  settings.max_lookahead = static_cast<std::uint32_t>(seed % 7);
  settings.score_period = 1 + static_cast<std::uint32_t>(seed % 3);
  settings.score_stale_after = 1 + static_cast<std::uint32_t>(seed % 4);
  settings.score_init = seed % 3 == 0 ? "empty" : seed % 3 == 1 ? "degree" : "random";
  return settings;
}

bool same(const Plan& a, const Plan& b) {
  const auto same_source = [](const RowSource& x, const RowSource& y) {
    return x.place == y.place && x.staged == y.staged;
  };
  const auto same_admission = [](const Admission& x, const Admission& y) {
    return x.staged == y.staged && x.slot == y.slot;
  };
  return a.fill == b.fill && a.step == b.step && a.rows == b.rows && a.fetch == b.fetch &&
         a.prompt == b.prompt &&
         std::equal(a.sources.begin(), a.sources.end(), b.sources.begin(), b.sources.end(), same_source) &&
         std::equal(a.admissions.begin(), a.admissions.end(), b.admissions.begin(), b.admissions.end(),
                    same_admission);
}

TEST_P(EveryPolicy, GivesPlansThatALiteralMachineCanCarryOut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scene scene = random_scene(seed, 24, 20, 12);
    for (const SlotId capacity : capacities(scene)) {
      for (const std::uint32_t horizon : {0U, 1U, 2U, 5U}) {
        SCOPED_TRACE(::testing::Message()
                     << "seed " << seed << " capacity " << capacity << " horizon " << horizon);
        Counts totals;
        const std::vector<Plan> plans =
            plan_run(scene, make_policy(GetParam(), scene.context(capacity), settings_of(seed)), capacity,
                     horizon, Push::kLazy, &totals);
        Counts sum;
        std::size_t rows = 0;
        for (const Plan& plan : plans) {
          sum += plan.counts;
        }
        for (const auto& batch : scene.batches) {
          rows += batch.size();
        }
        EXPECT_EQ(plans.size() - (plans.front().fill ? 1 : 0), scene.batches.size());
        EXPECT_EQ(totals.requests, rows);
        EXPECT_EQ(totals.requests, sum.requests);
        EXPECT_EQ(totals.hits, sum.hits);
        EXPECT_EQ(totals.fetched, sum.fetched);
        EXPECT_EQ(totals.bypassed, sum.bypassed);
        EXPECT_GE(totals.fetched, totals.requests - totals.hits);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST_P(EveryPolicy, PlansTheSameHoweverEarlyBatchesArrive) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scene scene = random_scene(seed, 30, 16, 10);
    for (const SlotId capacity : capacities(scene)) {
      const auto plans = [&](Push push) {
        return plan_run(scene, make_policy(GetParam(), scene.context(capacity), settings_of(seed)), capacity,
                        3, push);
      };
      const std::vector<Plan> lazy = plans(Push::kLazy);
      const std::vector<Plan> eager = plans(Push::kEager);
      ASSERT_TRUE(std::equal(lazy.begin(), lazy.end(), eager.begin(), eager.end(), same))
          << "seed " << seed << " capacity " << capacity;
    }
  }
}

/// Carries plans out with rows in flight as long as the contract allows: asked for as early as possible,
/// arriving only when their batch is gathered.
void run_pipelined(const std::vector<Plan>& plans, std::size_t horizon) {
  std::set<NodeId> in_flight;
  const auto ask = [&](const Plan& plan, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      ASSERT_TRUE(in_flight.insert(plan.fetch[i]).second) << "row " << plan.fetch[i] << " is in flight twice";
    }
  };
  std::size_t asked = 0;
  for (std::size_t gathered = 0; gathered < plans.size(); ++gathered) {
    for (; asked < plans.size() && asked < gathered + horizon; ++asked) {
      ask(plans[asked], 0, plans[asked].prompt);
    }
    ask(plans[gathered], plans[gathered].prompt, plans[gathered].fetch.size());
    for (const NodeId row : plans[gathered].fetch) {
      in_flight.erase(row);
    }
  }
  EXPECT_TRUE(in_flight.empty());
}

TEST_P(EveryPolicy, ACopyInTheMiddleOfARunGoesOnAsTheOriginal) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scene scene = random_scene(seed, 30, 16, 10);
    for (const SlotId capacity : capacities(scene)) {
      Planner original(make_policy(GetParam(), scene.context(capacity), settings_of(seed)), capacity, 2);
      std::unique_ptr<Planner> copy;
      for (const auto& batch : scene.batches) {
        original.push(batch);
      }
      original.finish();
      for (std::uint64_t plan = 0; !original.done(); ++plan) {
        if (plan == seed % scene.batches.size()) {
          copy = std::make_unique<Planner>(original);
        }
        const Plan next = original.next();
        if (copy != nullptr) {
          ASSERT_FALSE(copy->done());
          ASSERT_TRUE(same(next, copy->next()))
              << "seed " << seed << " capacity " << capacity << " plan " << plan;
        }
      }
    }
  }
}

TEST_P(EveryPolicy, HasNoRowInFlightTwice) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scene scene = random_scene(seed, 20, 24, 10);
    for (const std::uint32_t horizon : {1U, 2U, 3U, 8U}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " horizon " << horizon);
      const auto capacity = static_cast<SlotId>(seed % 10);
      run_pipelined(plan_run(scene, make_policy(GetParam(), scene.context(capacity), settings_of(seed)),
                             capacity, horizon),
                    horizon);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(EveryPolicy, NeverFetchesFewerRowsThanMin) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Scene scene = random_scene(seed, 4 + static_cast<NodeId>(seed % 37), 2 + seed % 23, 1 + seed % 14);
    const auto capacity = static_cast<SlotId>(seed % 11);
    ASSERT_GE(fetched_rows(scene, GetParam(), capacity, settings_of(seed)),
              fetched_rows(scene, "min", capacity))
        << "seed " << seed << " capacity " << capacity;
  }
}

TEST_P(EveryPolicy, SurvivesARunThatEndsEarlyOrLate) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Scene scene = random_scene(seed, 20, 12, 8);
    for (const StepId steps : {StepId{0}, StepId{5}, StepId{100}}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " steps " << steps);
      PolicyContext context = scene.context(4);
      context.steps = steps;
      EXPECT_GE(plan_run(scene, make_policy(GetParam(), context, settings_of(seed)), 4).size(), 12U);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(PolicyTable, NamesAreDistinctAndHelpIsThere) {
  std::set<std::string_view> names;
  for (const PolicyInfo& info : policy_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    ASSERT_NE(info.make, nullptr) << info.name;
    EXPECT_EQ(find_policy(info.name).value(), &info);
  }
  EXPECT_FALSE((*find_policy("none"))->overlapped);
  EXPECT_TRUE((*find_policy("lookahead"))->live);
  EXPECT_FALSE((*find_policy("min"))->live);
}

TEST(PolicyTable, AnUnknownNameGetsAHint) {
  EXPECT_THAT(find_policy("lookahed").error().message, ::testing::HasSubstr("did you mean 'lookahead'?"));
  EXPECT_THAT(find_policy("quantum").error().message, ::testing::HasSubstr("known: none, fixed-window"));
  EXPECT_EQ(find_policy("").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace rudder::cache
