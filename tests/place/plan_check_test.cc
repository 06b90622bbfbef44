// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/plan_helpers.h"

namespace rudder::place {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Hosts in the order of their names: every row and column touches all four minipods.
Plan by_name() {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    names.push_back(fmt::format("h{:02}", i));
  }
  std::vector<std::string> turned;  // row r is shifted by r, so columns touch all four as well
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      turned.push_back(names[4 * r + (c + r) % 4]);
    }
  }
  return plan_of({.gpus_per_node = 8, .tp = 8, .pp = 4, .dp = 4}, RankOrder::kColumnMajor, turned);
}

TEST(CheckPlan, TheBestCostsWhatItSays) {
  const Result<PlanCheck> check = check_against(block_plan(), interleaved_topology(), {});
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_DOUBLE_EQ(check->plan.J, 2);
  EXPECT_DOUBLE_EQ(check->best_J, 2);
  EXPECT_DOUBLE_EQ(check->J_lb, 2);
  EXPECT_THAT(check->why, IsEmpty());
  EXPECT_THAT(check->rows, IsEmpty());
  EXPECT_THAT(describe(*check), HasSubstr("S 2 (pipelines), Q 2 (data-parallel groups), J 2 at alpha 0.5"));
}

TEST(CheckPlan, SaysWhichRowsAndColumnsCostMore) {
  const Result<PlanCheck> check = check_against(by_name(), interleaved_topology(), {});
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_EQ(check->plan.spread.S, 4);
  EXPECT_EQ(check->plan.spread.Q, 4);
  EXPECT_DOUBLE_EQ(check->best_J, 2);
  ASSERT_EQ(check->rows.size(), 4U);
  ASSERT_EQ(check->columns.size(), 4U);
  EXPECT_EQ(check->rows[0].minipods.size(), 4U);
  EXPECT_THAT(check->why, Contains(HasSubstr("row 0 touches 4 minipods: A (1) B (1) C (1) D (1)")));
  EXPECT_THAT(check->why, Contains(HasSubstr("4 of 4 columns touch more than the 2")));
  EXPECT_THAT(describe(*check), HasSubstr("costs 100 % more than the best"));
}

TEST(CheckPlan, WarnsOfConsumersThatSortHosts) {
  const Result<PlanCheck> check = check_against(block_plan(), interleaved_topology(), {});
  ASSERT_TRUE(check.ok());
  EXPECT_THAT(check->warnings, Contains(HasSubstr("c10d")));  // h00 h01 h02 h03 are in four minipods
  EXPECT_THAT(check->warnings, Contains(HasSubstr("S 1, Q 4, J 2.5 instead of J 2")));
  EXPECT_THAT(check->warnings, Contains(HasSubstr("Slurm without a host file")));
}

TEST(CheckPlan, WarnsOfSegmentsThatKeepTheOtherFamilyTogether) {
  const auto warnings = [](RankOrder order, std::int32_t segment) {
    const Result<PlanCheck> check = check_against(block_plan(order), interleaved_topology(),
                                                  {.level = 1, .segment = segment, .limits = {}});
    EXPECT_TRUE(check.ok());
    return check->warnings;
  };
  EXPECT_THAT(
      warnings(RankOrder::kColumnMajor, 4),
      Contains(HasSubstr("segments of 4 keep data-parallel members of one stage together, not pipelines, "
                         "although the size looks like it")));
  EXPECT_THAT(warnings(RankOrder::kRowMajor, 2), Contains(HasSubstr("keep stages of one pipeline together")));
  EXPECT_THAT(warnings(RankOrder::kColumnMajor, 3),
              Contains(HasSubstr("do not divide the 4 nodes of a column")));
  EXPECT_THAT(warnings(RankOrder::kColumnMajor, 3),
              Contains(HasSubstr("16 nodes are no multiple of segments of 3")));
  EXPECT_THAT(warnings(RankOrder::kColumnMajor, 0), Not(Contains(HasSubstr("segment"))));
}

TEST(CheckPlan, WarnsOfFiguresThatAreNotTrueAndOfDownHosts) {
  Plan plan = block_plan();
  plan.spread = {1, 1};
  plan.J = 1;
  Topology topology = interleaved_topology();
  topology.hosts[4].state = HostState::kDown;
  const Result<PlanCheck> check = check_against(plan, topology, {});
  ASSERT_TRUE(check.ok());
  EXPECT_THAT(check->warnings,
              Contains(HasSubstr("the plan says S 1, Q 1, J 1; on this topology it is S 2, Q 2, J 2")));
  EXPECT_THAT(check->warnings, Contains(HasSubstr("host 'h04' (rank 32) is down")));
}

TEST(CheckPlan, RefusesHostsThatTheTopologyLacks) {
  Plan plan = block_plan();
  plan.nodes[0].host = "z";
  EXPECT_EQ(check_against(plan, interleaved_topology(), {}).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace rudder::place
