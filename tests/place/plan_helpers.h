// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/place/plan.h"

#include "place/topology_helpers.h"

namespace rudder::place {

/// Four minipods A..D of four hosts below one core; host names run across the minipods, as in clusters that
/// grew: h00 in A, h01 in B, h02 in C, h03 in D, h04 in A, ...
inline Topology interleaved_topology() {
  std::string text;
  for (int pod = 0; pod < 4; ++pod) {
    for (int i = 0; i < 4; ++i) {
      text += fmt::format("h{:02} core/{}\n", 4 * i + pod, static_cast<char>('A' + pod));
    }
  }
  return must_read(text).topology;
}

/// A plan whose cell (r, c) is on host names[r * columns + c].
inline Plan plan_of(const JobShape& shape, RankOrder order, const std::vector<std::string>& names) {
  Plan plan;
  plan.job = "llm";
  plan.shape = shape;
  plan.order = order;
  const Result<Grid> grid = grid_of(shape);
  EXPECT_TRUE(grid.ok());
  for (std::int32_t r = 0; r < grid->rows; ++r) {
    for (std::int32_t c = 0; c < grid->columns; ++c) {
      plan.nodes.push_back({first_rank(shape, order, r, c),
                            r,
                            c,
                            names[static_cast<std::size_t>(r) * static_cast<std::size_t>(grid->columns) +
                                  static_cast<std::size_t>(c)],
                            {},
                            {}});
    }
  }
  std::sort(plan.nodes.begin(), plan.nodes.end(),
            [](const PlannedNode& a, const PlannedNode& b) { return a.rank0 < b.rank0; });
  return plan;
}

/// 4 x 4 on interleaved_topology() as 2 x 2 blocks: rows 0-1 are A A B B, rows 2-3 C C D D. S = Q = 2.
inline Plan block_plan(RankOrder order = RankOrder::kColumnMajor) {
  Plan plan = plan_of({.gpus_per_node = 8, .tp = 8, .pp = 4, .dp = 4}, order,
                      {"h00", "h04", "h01", "h05", "h08", "h12", "h09", "h13",  //
                       "h02", "h06", "h03", "h07", "h10", "h14", "h11", "h15"});
  EXPECT_TRUE(locate(plan, interleaved_topology(), 1).ok());
  plan.J_lb = 2;
  return plan;
}

/// Host of each cell, row-major: what every format must give back.
inline std::vector<std::string> hosts_by_cell(const Plan& plan) {
  std::vector<std::pair<std::pair<int, int>, std::string>> cells;
  for (const PlannedNode& node : plan.nodes) {
    cells.push_back({{node.row, node.stage}, node.host});
  }
  std::sort(cells.begin(), cells.end());
  std::vector<std::string> hosts;
  for (const auto& [cell, host] : cells) {
    hosts.push_back(host);
  }
  return hosts;
}

}  // namespace rudder::place
