// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/plan_helpers.h"

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Shape, GridsOfThePaper) {
  const auto grid = [](JobShape shape) {
    const Result<Grid> made = grid_of(shape);
    return made.ok() ? std::pair(made->rows, made->columns) : std::pair(0, 0);
  };
  EXPECT_EQ(grid({.gpus_per_node = 8, .tp = 8, .pp = 2, .dp = 6}), std::pair(6, 2));    // 96 GPUs
  EXPECT_EQ(grid({.gpus_per_node = 8, .tp = 4, .pp = 2, .dp = 12}), std::pair(6, 2));   // setting (i)
  EXPECT_EQ(grid({.gpus_per_node = 8, .tp = 4, .pp = 8, .dp = 24}), std::pair(12, 8));  // setting (ii)
  EXPECT_EQ(grid({.gpus_per_node = 8, .tp = 8, .pp = 8, .dp = 46}), std::pair(46, 8));  // setting (iii)
  EXPECT_EQ(grid({.gpus_per_node = 8, .tp = 4, .pp = 2, .dp = 3, .cp = 4}), std::pair(6, 2));
}

TEST(Shape, RefusesNodesWithTwoStages) {
  const auto failure = [](JobShape shape) {
    const Result<Grid> made = grid_of(shape);
    return made.ok() ? "none" : made.error().message;
  };
  EXPECT_THAT(failure({.gpus_per_node = 8, .tp = 3}), HasSubstr("TP must divide"));
  EXPECT_THAT(failure({.gpus_per_node = 8, .tp = 16}), HasSubstr("TP must divide"));
  EXPECT_THAT(failure({.gpus_per_node = 8, .tp = 2, .pp = 2, .dp = 6}),
              HasSubstr("the 4 data-parallel members"));
  EXPECT_THAT(failure({.gpus_per_node = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(failure({.gpus_per_node = 8, .tp = 8, .pp = 2'000'000'000, .dp = 2'000'000'000}),
              HasSubstr("more than"));
}

/// Megatron's numbering, written down literally: the rank with these coordinates.
std::int64_t rank_by_nesting(const JobShape& shape, RankOrder order, int tp, int member, int stage) {
  const std::int64_t members = std::int64_t{shape.dp} * shape.cp;
  return order == RankOrder::kColumnMajor ? tp + shape.tp * (member + members * stage)
                                          : tp + shape.tp * (stage + std::int64_t{shape.pp} * member);
}

TEST(Ranks, AreThoseOfTheNesting) {
  for (const RankOrder order : {RankOrder::kColumnMajor, RankOrder::kRowMajor}) {
    for (const int tp : {2, 4, 8}) {
      const JobShape shape{.gpus_per_node = 8, .tp = tp, .pp = 3, .dp = 8, .cp = 2};
      const Result<Grid> grid = grid_of(shape);
      ASSERT_TRUE(grid.ok());
      std::vector<std::string> names;
      for (std::int64_t i = 0; i < grid->cells(); ++i) {
        names.push_back(fmt::format("n{}", i));
      }
      const Plan plan = plan_of(shape, order, names);
      ASSERT_TRUE(validate(plan).ok());
      const std::vector<std::int32_t> owner = node_of_rank(plan);
      for (int stage = 0; stage < shape.pp; ++stage) {
        for (int member = 0; member < 16; ++member) {
          for (int t = 0; t < tp; ++t) {
            const auto rank = static_cast<std::size_t>(rank_by_nesting(shape, order, t, member, stage));
            const PlannedNode& node = plan.nodes[static_cast<std::size_t>(owner[rank])];
            EXPECT_EQ(node.row, member / (8 / tp));
            EXPECT_EQ(node.stage, stage);
          }
        }
      }
      EXPECT_EQ(ranks_are_consecutive(plan), order == RankOrder::kColumnMajor || tp == 8);
    }
  }
}

TEST(PlanFile, IsReadBackAsItWasWritten) {
  for (const RankOrder order : {RankOrder::kColumnMajor, RankOrder::kRowMajor}) {
    Plan plan = block_plan(order);
    plan.job = "a \"quoted\" name";
    const Result<Plan> back = parse_plan("placement.json", to_json(plan));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(to_json(*back), to_json(plan));
    EXPECT_EQ(hosts_by_cell(*back), hosts_by_cell(plan));
    EXPECT_EQ(back->spread.S, 2);
    EXPECT_EQ(back->spread.Q, 2);
    EXPECT_EQ(back->order, order);
  }
}

TEST(PlanFile, SaysTheElementOfEachFault) {
  const std::string good = to_json(block_plan());
  const auto fault = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Result<Plan> plan = parse_plan("p.json", text);
    return plan.ok() ? "none" : plan.error().message;
  };
  EXPECT_THAT(fault("\"h04\"", "\"h00\""), HasSubstr("p.json: nodes[4]: host 'h00' is used by nodes[0]"));
  EXPECT_THAT(fault("\"h04\"", "\"$(rm)\""), HasSubstr("no host has the name '$(rm)'"));
  EXPECT_THAT(fault("\"row\":3", "\"row\":9"), HasSubstr("outside the grid of 4 x 4"));
  EXPECT_THAT(fault("\"row\":3", "\"row\":-1"), HasSubstr("'row' must be a whole number"));
  EXPECT_THAT(fault("\"row\":3", "\"row\":2"), HasSubstr("placed twice"));
  EXPECT_THAT(fault("\"rank0\":8,", "\"rank0\":9,"), HasSubstr("rank0 is 9; column-major order has rank 8"));
  EXPECT_THAT(fault("column-major", "row-major"), HasSubstr("row-major order has rank"));
  EXPECT_THAT(fault("column-major", "sideways"), HasSubstr("rank order 'sideways'"));
  EXPECT_THAT(fault("\"pp\":4", "\"pp\":5"), HasSubstr("needs 20 nodes, 16 are listed"));
  EXPECT_THAT(fault("\"tp\":8", "\"tp\":3"), HasSubstr("TP must divide"));
  EXPECT_THAT(fault("\"alpha\":0.5", "\"alpha\":\"x\""), HasSubstr("'alpha' must be a number"));
  EXPECT_THAT(fault("\"nodes\":[", "\"nodes\":7,\"x\":["), HasSubstr("'nodes' must be a list"));
  EXPECT_THAT(fault("{\"job\"", "{{\"job\""), HasSubstr("line 1"));
}

TEST(PlanFromHosts, TakesOneHostARankOrANode) {
  for (const RankOrder order : {RankOrder::kColumnMajor, RankOrder::kRowMajor}) {
    const JobShape shape{.gpus_per_node = 4, .tp = 2, .pp = 2, .dp = 4};
    const Plan plan = plan_of(shape, order, {"a", "b", "c", "d"});
    std::vector<std::string> by_rank;
    for (const std::int32_t node : node_of_rank(plan)) {
      by_rank.push_back(plan.nodes[static_cast<std::size_t>(node)].host);
    }
    const Result<Plan> ranks = plan_from_hosts(shape, order, by_rank);
    ASSERT_TRUE(ranks.ok()) << ranks.error().message;
    EXPECT_EQ(hosts_by_cell(*ranks), hosts_by_cell(plan));
    std::vector<std::string> by_node;
    for (const PlannedNode& node : plan.nodes) {
      by_node.push_back(node.host);
    }
    const Result<Plan> nodes = plan_from_hosts(shape, order, by_node);
    ASSERT_TRUE(nodes.ok());
    EXPECT_EQ(hosts_by_cell(*nodes), hosts_by_cell(plan));
    std::swap(by_rank[1], by_rank.back());
    EXPECT_THAT(plan_from_hosts(shape, order, by_rank).error().message, HasSubstr("rank 1 is on '"));
    by_rank.pop_back();
    EXPECT_THAT(plan_from_hosts(shape, order, by_rank).error().message,
                HasSubstr("15 hosts; the shape has 4 nodes and 16 ranks"));
  }
}

TEST(PlanFromHosts, HostAndRankfilesSayTheLineOfEachFault) {
  EXPECT_THAT(*parse_host_file("h", "# x\na\n\n b # y\n"), ElementsAre("a", "b"));
  EXPECT_THAT(parse_host_file("h", "a\nb c\n").error().message, HasSubstr("h: line 2: no host name: 'b c'"));
  EXPECT_THAT(*parse_rankfile("r", "rank 1=b slot=0:1\nrank 0=a slot=0-3\n"), ElementsAre("a", "b"));
  EXPECT_THAT(parse_rankfile("r", "rank 0=a slot=0\nrank 2=b slot=0\n").error().message,
              HasSubstr("rank 1 is missing"));
  EXPECT_THAT(parse_rankfile("r", "rank 0=a\n").error().message,
              HasSubstr("line 1: expected rank N=HOST slot="));
  EXPECT_THAT(parse_rankfile("r", "rank 0=a slot=0\nrank 0=b slot=0\n").error().message,
              HasSubstr("line 2: a rank twice"));
  EXPECT_THAT(parse_rankfile("r", "rank 99999999=a slot=0\n").error().message,
              HasSubstr("beyond the number of lines"));
  EXPECT_THAT(parse_rankfile("r", "rank -1=a slot=0\n").error().message, HasSubstr("line 1: no rank"));
}

TEST(Locate, FillsMinipodsAndRefusesStrangers) {
  Plan plan = block_plan();
  EXPECT_EQ(plan.nodes[0].minipod, "A");
  EXPECT_EQ(plan.spread.S, 2);
  EXPECT_EQ(plan.spread.Q, 2);
  EXPECT_DOUBLE_EQ(plan.J, 2);
  plan.nodes[3].host = "stranger";
  EXPECT_THAT(locate(plan, interleaved_topology(), 1).error().message,
              HasSubstr("host 'stranger' (rank 24)"));
}

TEST(SegmentSize, IsTheLargestThatNoMinipodBorderCuts) {
  EXPECT_EQ(segment_size(block_plan(RankOrder::kColumnMajor)), 2);
  Plan plan = block_plan();
  for (PlannedNode& node : plan.nodes) {
    node.minipod = "A";
  }
  EXPECT_EQ(segment_size(plan), 16);
  plan.nodes[5].minipod = "B";
  EXPECT_EQ(segment_size(plan), 1);
}

}  // namespace
}  // namespace rudder::place
