// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/place/placement.h"

#include "support/exhaustive_placement.h"

namespace rudder::place {
namespace {

struct Problem {
  Grid grid;
  std::vector<std::int32_t> capacities;
};

/// Up to 36 cells and five minipods; the capacities sum to between 1 and 1.6 times the cells, unevenly.
Problem random_problem(std::uint64_t seed) {
  CounterRng rng({seed, 17});
  Problem problem;
  problem.grid.rows = 1 + static_cast<std::int32_t>(rng.below(9));
  problem.grid.columns =
      1 + static_cast<std::int32_t>(rng.below(36 / static_cast<std::uint64_t>(problem.grid.rows)));
  const auto cells = static_cast<std::uint64_t>(problem.grid.cells());
  problem.capacities.assign(1 + rng.below(5), 0);
  const std::uint64_t total = cells + rng.below(1 + cells * 6 / 10);
  for (std::uint64_t i = 0; i < total; ++i) {
    ++problem.capacities[rng.below(problem.capacities.size())];
  }
  // Uneven half of the time: what one minipod gives another takes.
  if (rng.below(2) == 0) {
    for (std::int32_t& capacity : problem.capacities) {
      const auto given = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(capacity) + 1));
      capacity -= given;
      problem.capacities[rng.below(problem.capacities.size())] += given;
    }
  }
  return problem;
}

TEST(Frontier, EqualsExhaustiveSearchOnRandomProblems) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = random_problem(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << problem.grid.rows << "x"
                                    << problem.grid.columns << " "
                                    << testing::PrintToString(problem.capacities));
    const Result<Frontier> frontier = solve_frontier(problem.capacities, problem.grid);
    ASSERT_TRUE(frontier.ok());
    std::vector<std::pair<int, int>> found;
    for (const FrontierPoint& point : frontier->points) {
      found.emplace_back(point.spread.S, point.spread.Q);
    }
    std::vector<std::pair<int, int>> proved;
    for (const Spread& bound : frontier->bounds) {
      proved.emplace_back(bound.S, bound.Q);
    }
    test::ExhaustivePlacement truth(problem.grid.rows, problem.grid.columns, problem.capacities);
    const auto expected = truth.frontier();
    ASSERT_EQ(found, expected);
    ASSERT_EQ(proved, expected);
  }
}

}  // namespace
}  // namespace rudder::place
