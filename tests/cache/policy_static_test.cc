// SPDX-License-Identifier: Apache-2.0
// Policies whose buffer is known beforehand: none, degree, vip, fixed-window.
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::make_policy;
using testing_support::plan_run;
using testing_support::random_scene;
using testing_support::Scene;

/// Nodes 0 and 1 are the rank's own. Degrees 9 9 1 5 5 0 5 2; the halo lacks node 6.
Scene small_scene() {
  Scene scene;
  scene.nodes = 8;
  scene.owned = 2;
  scene.halo = {2, 3, 4, 5, 7};
  scene.indptr = {0, 9, 18, 19, 24, 29, 29, 34, 36};
  scene.vip = {1, 1, 0.1F, 0, 0.5F, 0, 0.5F, 0.9F};
  scene.batches = {{2, 3, 4, 6, 7}, {2, 3, 4, 6, 7}};
  return scene;
}

std::vector<NodeId> filled(const Scene& scene, const char* policy, SlotId capacity) {
  const std::vector<Plan> plans = plan_run(scene, make_policy(policy, scene.context(capacity)), capacity);
  for (std::size_t i = 1; i < plans.size(); ++i) {
    EXPECT_TRUE(plans[i].admissions.empty()) << "a static policy changed its buffer";
  }
  return plans.front().fill ? plans.front().fetch : std::vector<NodeId>{};
}

TEST(None, FetchesEveryRequestedRow) {
  const Scene scene = random_scene(1, 20, 30, 10);
  Counts totals;
  static_cast<void>(
      plan_run(scene, make_policy("none", scene.context(10)), 10, 1, testing_support::Push::kLazy, &totals));
  EXPECT_EQ(totals.hits, 0U);
  EXPECT_EQ(totals.fetched, totals.requests);
  EXPECT_EQ(totals.bypassed, totals.requests);
}

TEST(Degree, FillsTheBufferWithTheHaloNodesOfHighestDegree) {
  const Scene scene = small_scene();
  EXPECT_THAT(filled(scene, "degree", 0), ::testing::IsEmpty());
  EXPECT_THAT(filled(scene, "degree", 1), ::testing::ElementsAre(3));
  EXPECT_THAT(filled(scene, "degree", 2), ::testing::ElementsAre(3, 4));
  EXPECT_THAT(filled(scene, "degree", 3), ::testing::ElementsAre(3, 4, 7));
  EXPECT_THAT(filled(scene, "degree", 100), ::testing::ElementsAre(2, 3, 4, 5, 7));
}

TEST(Vip, FillsTheBufferWithTheRemoteNodesMostLikelySampled) {
  const Scene scene = small_scene();
  EXPECT_THAT(filled(scene, "vip", 1), ::testing::ElementsAre(7));
  EXPECT_THAT(filled(scene, "vip", 2), ::testing::ElementsAre(4, 7));
  EXPECT_THAT(filled(scene, "vip", 3), ::testing::ElementsAre(4, 6, 7));
  EXPECT_THAT(filled(scene, "vip", 100), ::testing::ElementsAre(2, 4, 6, 7));
}

TEST(FixedWindow, HoldsTheNextBatchAndNothingElse) {
  const Scene scene = random_scene(4, 40, 50, 12);
  Planner planner(make_policy("fixed-window", scene.context(40)), 40, 1);
  testing_support::LiteralMachine machine(40, 1);
  for (const auto& batch : scene.batches) {
    planner.push(batch);
  }
  planner.finish();
  std::size_t next = 0;
  while (!planner.done()) {
    const Plan plan = planner.next();
    machine.apply(plan, planner.residency());
    next = plan.fill ? 0 : static_cast<std::size_t>(plan.step) + 1;
    const std::set<NodeId> expected =
        next < scene.batches.size() ? std::set<NodeId>(scene.batches[next].begin(), scene.batches[next].end())
                                    : std::set<NodeId>{};
    EXPECT_EQ(testing_support::rows_of(planner.residency()), expected);
  }
  EXPECT_EQ(planner.totals().hits, planner.totals().requests);
}

TEST(FixedWindow, FetchesWhatTwoNeighbouringBatchesDoNotShare) {
  const Scene scene = random_scene(6, 25, 80, 14);
  std::uint64_t expected = scene.batches[0].size();
  for (std::size_t step = 1; step < scene.batches.size(); ++step) {
    const std::set<NodeId> before(scene.batches[step - 1].begin(), scene.batches[step - 1].end());
    for (const NodeId row : scene.batches[step]) {
      expected += before.count(row) == 0 ? 1U : 0U;
    }
  }
  EXPECT_EQ(testing_support::fetched_rows(scene, "fixed-window", 25), expected);
}

TEST(FixedWindow, TakesRowsAtHandBeforeItFetchesOthers) {
  Scene scene;
  scene.nodes = 10;
  scene.batches = {{5, 6, 7}, {1, 2, 6, 7}, {9}};
  const std::vector<Plan> plans = plan_run(scene, make_policy("fixed-window", scene.context(3)), 3);
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_THAT(plans[0].fetch, ::testing::ElementsAre(5, 6, 7));
  EXPECT_THAT(plans[1].fetch, ::testing::ElementsAre(1));  // one slot left besides 6 and 7
  EXPECT_THAT(plans[2].fetch, ::testing::ElementsAre(2, 9));
  EXPECT_THAT(plans[3].fetch, ::testing::IsEmpty());
}

}  // namespace
}  // namespace rudder::cache
