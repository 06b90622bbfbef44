// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/baselines.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <fmt/core.h>

#include "rudder/core/check.h"

#include "place/bounds.h"
#include "place/constructions.h"
#include "place/solver.h"

namespace rudder::place {
namespace {

/// Minipods of N nodes in the order in which they are handed out, as cells.
Cells in_order(Grid grid, FillOrder order, Cells nodes) {
  return order == FillOrder::kRowMajor ? nodes : transposed(transposed(grid), nodes);
}

/// In canonical order of capacities; `own` is the grid whose rows are the units.
struct GroupProblem {
  Canonical canonical;
  Instance own;
};

Result<GroupProblem> group_problem(std::span<const std::int32_t> capacities, Grid grid, Unit unit) {
  RUDDER_ASSIGN(Canonical problem, canonical(capacities, grid));
  Instance own{unit == Unit::kPipeline ? grid : transposed(grid), problem.instance.capacities};
  return GroupProblem{std::move(problem), std::move(own)};
}

/// Y2: the fewest minipods that hold all nodes.
std::int32_t fewest(const Instance& instance) {
  std::int64_t nodes = 0;
  std::int32_t used = 0;
  while (nodes < instance.grid.cells()) {
    nodes += instance.capacities[static_cast<std::size_t>(used++)];
  }
  return used;
}

GroupOptimum optimum_of(const Instance& own, Unit unit, double alpha) {
  const double others = unit == Unit::kPipeline ? alpha : 1 - alpha;
  const std::int32_t whole = aligned_columns(own.grid, own.capacities);
  const std::int32_t split = fewest(own);
  // One minipod splits no group.
  const std::int32_t T = split == 1 ? 1 : 2;
  GroupOptimum result{split, T, others * split + (1 - others) * T, true};
  const double aligned = others * whole + (1 - others);
  if (whole > 0 && aligned <= result.objective + 1e-12) {
    result = {whole, 1, aligned, true};
  }
  result.proved = own.capacities[static_cast<std::size_t>(result.minipods) - 1] >= own.grid.columns - 1;
  return result;
}

}  // namespace

Result<Cells> best_fit(std::span<const std::int32_t> capacities, Grid grid, FillOrder order) {
  RUDDER_TRY(canonical(capacities, grid));
  std::vector<std::int32_t> left(capacities.begin(), capacities.end());
  Cells nodes;
  while (nodes.size() < cell_count(grid)) {
    std::size_t best = left.size();
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (left[k] > 0 && (best == left.size() || left[k] < left[best])) {
        best = k;
      }
    }
    // It stays the one with the least until it is full.
    for (; left[best] > 0 && nodes.size() < cell_count(grid); --left[best]) {
      nodes.push_back(static_cast<MinipodId>(best));
    }
  }
  return in_order(grid, order, std::move(nodes));
}

Result<Cells> packing(std::span<const std::int32_t> capacities, Grid grid, FillOrder order) {
  RUDDER_TRY(canonical(capacities, grid));
  std::vector<std::int32_t> left(capacities.begin(), capacities.end());
  Cells nodes;
  while (nodes.size() < cell_count(grid)) {
    const auto missing = static_cast<std::int64_t>(cell_count(grid) - nodes.size());
    auto chosen = std::max_element(left.begin(), left.end());
    for (auto k = left.begin(); k != left.end(); ++k) {
      if (*k >= missing && *k < *chosen) {
        chosen = k;
      }
    }
    const std::int64_t taken = std::min<std::int64_t>(missing, *chosen);
    nodes.insert(nodes.end(), static_cast<std::size_t>(taken), static_cast<MinipodId>(chosen - left.begin()));
    *chosen = 0;
  }
  return in_order(grid, order, std::move(nodes));
}

Result<Cells> random_fit(std::span<const std::int32_t> capacities, Grid grid, std::uint32_t seed) {
  RUDDER_TRY(canonical(capacities, grid));
  std::vector<std::int32_t> left(capacities.begin(), capacities.end());
  std::vector<MinipodId> open;
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (left[k] > 0) {
      open.push_back(static_cast<MinipodId>(k));
    }
  }
  std::mt19937 random(seed);
  Cells nodes;
  while (nodes.size() < cell_count(grid)) {
    // The remainder's bias is below K / 2^32.
    const auto at = open.begin() + static_cast<std::ptrdiff_t>(random() % open.size());
    nodes.push_back(*at);
    if (--left[static_cast<std::size_t>(*at)] == 0) {
      open.erase(at);
    }
  }
  return nodes;
}

Result<GroupOptimum> group_optimum(std::span<const std::int32_t> capacities, Grid grid, Unit unit,
                                   double alpha) {
  RUDDER_ASSIGN(const GroupProblem problem, group_problem(capacities, grid, unit));
  return optimum_of(problem.own, unit, alpha);
}

Result<Cells> arnold(std::span<const std::int32_t> capacities, Grid grid, Unit unit, double alpha) {
  RUDDER_ASSIGN(const GroupProblem problem, group_problem(capacities, grid, unit));
  const std::optional<Cells> whole = aligned_rows(problem.own);
  Cells cells = optimum_of(problem.own, unit, alpha).T == 1 && whole ? *whole : sequential_fill(problem.own);
  if (unit == Unit::kDataParallel) {
    cells = transposed(problem.own.grid, cells);
  }
  for (MinipodId& cell : cells) {
    cell = problem.canonical.original[static_cast<std::size_t>(cell)];
  }
  return cells;
}

}  // namespace rudder::place
