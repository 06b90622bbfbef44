// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/place/check.h"
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

/// Each point of a frontier is realised, checked, and above the bound.
void expect_realised(const Row& row) {
  const Result<Frontier> frontier = solve_frontier(row.capacities, row.grid);
  ASSERT_TRUE(frontier.ok());
  ASSERT_FALSE(frontier->points.empty());
  for (const FrontierPoint& point : frontier->points) {
    for (const double alpha : {0.0, 0.5, 1.0}) {
      const Result<Cells> cells = realise(row.capacities, row.grid, point.spread, alpha);
      ASSERT_TRUE(cells.ok());
      const Result<CheckedCells> checked =
          check_cells(row.grid.rows, row.grid.columns, *cells, row.capacities, alpha);
      ASSERT_TRUE(checked.ok()) << checked.error().message;
      EXPECT_LE(checked->S, point.spread.S);
      EXPECT_LE(checked->Q, point.spread.Q);
      EXPECT_GE(checked->J, frontier->lower_bound(alpha) - 1e-12);
    }
  }
}

TEST(Realise, ReachesEveryPointOfTheWorkedExamples) {
  for (const Row& row : worked_examples()) {
    SCOPED_TRACE(testing::PrintToString(row.capacities));
    expect_realised(row);
  }
}

/// Capacities between 40 % and all of 93 nodes, enough of them for the grid.
std::vector<std::int32_t> occupied(std::uint64_t seed, std::size_t minipods, std::int64_t cells) {
  CounterRng rng({seed, 29});
  std::vector<std::int32_t> capacities(minipods);
  std::int64_t total = 0;
  while (total < cells) {
    total = 0;
    for (std::int32_t& capacity : capacities) {
      capacity = 37 + static_cast<std::int32_t>(rng.below(57));
      total += capacity;
    }
  }
  return capacities;
}

TEST(Realise, ReachesTheBestPointOfLargeGrids) {
  const SolveLimits limits{.seconds = 0.02};
  for (const Grid grid : {Grid{46, 8}, Grid{150, 8}}) {
    const auto capacities = occupied(static_cast<std::uint64_t>(grid.rows), 22, grid.cells());
    const Spread best = solve_frontier(capacities, grid, limits)->best(0.5).spread;
    const Result<Cells> cells = realise(capacities, grid, best, 0.5, limits);
    ASSERT_TRUE(cells.ok());
    const Result<CheckedCells> checked = check_cells(grid.rows, grid.columns, *cells, capacities, 0.5);
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    EXPECT_LE(checked->S, best.S);
    EXPECT_LE(checked->Q, best.Q);
  }
}

TEST(Realise, BlocksOfTheFourByFourExample) {
  const std::vector<std::int32_t> capacities = {4, 4, 4, 4};
  EXPECT_THAT(*realise(capacities, {4, 4}, {.S = 2, .Q = 2}, 0.5),
              testing::ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3));
}

TEST(Realise, RefusesPairsOffTheFrontierAndWrongWeights) {
  EXPECT_EQ(realise(std::vector<std::int32_t>{4, 4}, {2, 2}, {.S = 1, .Q = 2}, 1.5).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(realise(std::vector<std::int32_t>{4, 4}, {2, 2}, {.S = 2, .Q = 2}, 0.5).error().code,
            Errc::kInvalidArgument);
}

/// Equal up to names: sorted capacities give the same cells once minipods are named by capacity.
TEST(Realise, DoesNotDependOnTheOrderOfCapacities) {
  std::vector<std::int32_t> capacities = {9, 7, 12, 5, 10, 8, 6};  // all different, so names are unambiguous
  const Grid grid{9, 5};
  const auto sizes = [&](const std::vector<std::int32_t>& given, Spread spread) {
    std::vector<std::int32_t> result;
    const Result<Cells> cells = realise(given, grid, spread, 0.4);
    for (const MinipodId k : cells.value()) {
      result.push_back(given[static_cast<std::size_t>(k)]);
    }
    return result;
  };
  const Pairs expected = pairs_of(solve_frontier(capacities, grid)->points);
  const Spread best = solve_frontier(capacities, grid)->best(0.4).spread;
  const std::vector<std::int32_t> cells = sizes(capacities, best);
  CounterRng rng({1});
  for (int i = 0; i < 10; ++i) {
    for (std::size_t k = capacities.size(); k > 1; --k) {
      std::swap(capacities[k - 1], capacities[rng.below(k)]);
    }
    EXPECT_EQ(pairs_of(solve_frontier(capacities, grid)->points), expected);
    EXPECT_EQ(sizes(capacities, best), cells);
  }
}

/// On grids that are decided exactly.
TEST(Frontier, TransposesAndNeverLosesByCapacity) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CounterRng rng({seed, 31});
    const Grid grid{1 + static_cast<std::int32_t>(rng.below(6)), 1 + static_cast<std::int32_t>(rng.below(6))};
    std::vector<std::int32_t> capacities;
    std::int64_t total = 0;
    while (total < grid.cells()) {
      capacities.push_back(1 + static_cast<std::int32_t>(rng.below(8)));
      total += capacities.back();
    }
    if (capacities.size() > 6) {
      continue;
    }
    Pairs turned;
    for (const auto& [S, Q] : pairs_of(solve_frontier(capacities, {grid.columns, grid.rows})->points)) {
      turned.insert(turned.begin(), {Q, S});
    }
    const Result<Frontier> frontier = solve_frontier(capacities, grid);
    EXPECT_EQ(pairs_of(frontier->points), turned) << seed;
    std::vector<std::int32_t> more = capacities;
    more[rng.below(more.size())] += 1 + static_cast<std::int32_t>(rng.below(3));
    for (const double alpha : {0.0, 0.3, 0.6, 1.0}) {
      EXPECT_LE(solve_frontier(more, grid)->lower_bound(alpha), frontier->lower_bound(alpha) + 1e-12) << seed;
    }
  }
}

TEST(Frontier, RejectsImpossibleProblems) {
  const auto code = [](std::vector<std::int32_t> capacities, Grid grid) {
    return solve_frontier(capacities, grid).error().code;
  };
  EXPECT_EQ(code({4}, {0, 3}), Errc::kInvalidArgument);
  EXPECT_EQ(code({4}, {1 << 15, 1 << 15}), Errc::kInvalidArgument);
  EXPECT_EQ(code({4, -1}, {2, 2}), Errc::kInvalidArgument);
  EXPECT_EQ(code({}, {1, 1}), Errc::kResource);
  EXPECT_EQ(code({0, 0}, {1, 1}), Errc::kResource);
  EXPECT_THAT(solve_frontier(std::vector<std::int32_t>{3}, {2, 2}).error().message,
              testing::AllOf(testing::HasSubstr("4 nodes"), testing::HasSubstr("3 usable")));
}

/// A million nodes in a million minipods, one minipod, long lines: all in bounded time and memory.
TEST(Frontier, SurvivesExtremes) {
  const std::vector<std::int32_t> singles(1 << 20, 1);
  const Result<Frontier> scattered = solve_frontier(singles, {1024, 1024});
  ASSERT_TRUE(scattered.ok());
  EXPECT_EQ(pairs_of(scattered->points), (Pairs{{1024, 1024}}));
  const std::vector<std::int32_t> huge = {2147483647, 2147483647};
  EXPECT_EQ(pairs_of(solve_frontier(huge, {1 << 20, 1})->points), (Pairs{{1, 1}}));
  EXPECT_EQ(pairs_of(solve_frontier(singles, {1, 1 << 20})->points), (Pairs{{1 << 20, 1}}));
  const std::vector<std::int32_t> hundreds(12000, 100);
  EXPECT_TRUE(solve_frontier(hundreds, {1024, 1024}, {.seconds = 0}).ok());
}

}  // namespace
}  // namespace rudder::place
