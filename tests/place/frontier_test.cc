// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rudder/place/placement.h"

namespace rudder::place {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

struct Row {
  Grid grid;
  std::vector<std::int32_t> capacities;
  Pairs frontier;
};

/// Optima found by exhaustive search (R C <= 36) or by a bound that equals a construction.
const std::vector<Row>& worked_examples() {
  static const std::vector<Row> rows = {
      {{2, 2}, {2, 2}, {{1, 2}, {2, 1}}},
      {{2, 2}, {1, 1, 1, 1}, {{2, 2}}},
      {{2, 3}, {4, 2}, {{2, 1}}},
      {{2, 4}, {3, 3, 3}, {{2, 2}}},
      {{3, 3}, {3, 3, 3}, {{1, 3}, {2, 2}, {3, 1}}},
      {{3, 3}, {5, 4}, {{2, 2}}},
      {{4, 2}, {3, 3, 3}, {{2, 2}}},
      {{4, 2}, {4, 4}, {{1, 2}, {2, 1}}},
      {{4, 3}, {6, 6}, {{1, 2}}},
      {{4, 3}, {4, 4, 4}, {{2, 2}, {3, 1}}},
      {{4, 4}, {8, 8}, {{1, 2}, {2, 1}}},
      {{4, 4}, {4, 4, 4, 4}, {{1, 4}, {2, 2}, {4, 1}}},
      {{4, 4}, {6, 6, 6}, {{2, 2}}},
      {{6, 4}, {8, 8, 8}, {{1, 3}, {2, 2}}},
      {{6, 4}, {6, 6, 6, 6}, {{2, 2}, {4, 1}}},
      {{4, 4}, {10, 3, 2, 1}, {{2, 3}, {3, 2}}},
      {{6, 2}, {6, 6, 6}, {{1, 2}, {2, 1}}},
      {{12, 8}, {88, 88, 88, 87, 87}, {{1, 2}, {2, 1}}},
      {{46, 8}, {93, 93, 93, 93, 93, 93, 93, 92, 92, 92, 92}, {{1, 5}, {2, 2}, {4, 1}}},
      {{12, 8}, {40, 33, 60, 20, 50}, {{1, 2}, {2, 1}}},
  };
  return rows;
}

Pairs pairs_of(const std::vector<FrontierPoint>& points) {
  Pairs pairs;
  for (const FrontierPoint& point : points) {
    pairs.emplace_back(point.spread.S, point.spread.Q);
  }
  return pairs;
}

Pairs pairs_of(const std::vector<Spread>& spreads) {
  Pairs pairs;
  for (const Spread& spread : spreads) {
    pairs.emplace_back(spread.S, spread.Q);
  }
  return pairs;
}

TEST(Frontier, MatchesTheWorkedExamplesAndProvesThem) {
  for (const Row& row : worked_examples()) {
    SCOPED_TRACE(testing::Message() << row.grid.rows << "x" << row.grid.columns << " "
                                    << testing::PrintToString(row.capacities));
    const Result<Frontier> frontier = solve_frontier(row.capacities, row.grid);
    ASSERT_TRUE(frontier.ok());
    EXPECT_EQ(pairs_of(frontier->points), row.frontier);
    EXPECT_EQ(pairs_of(frontier->bounds), row.frontier);
  }
}

}  // namespace
}  // namespace rudder::place
