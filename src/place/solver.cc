// SPDX-License-Identifier: Apache-2.0
#include "place/solver.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "rudder/core/check.h"

#include "place/bounds.h"
#include "place/constructions.h"
#include "place/exact.h"
#include "place/layout.h"
#include "place/strips.h"

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 20;
constexpr std::int64_t kBandSteps = 50'000;  ///< per pair of spreads, about 0.1 ms
constexpr double kMovesPerSecond = 2e6;
constexpr double kStepsPerSecond = 1e9;
constexpr double kMaxSeconds = 3600;

/// Witnesses that no other dominates, S ascending.
class Front {
 public:
  void offer(Grid grid, Cells cells, std::string_view method) {
    const Spread spread = spread_of(grid, cells);
    for (const Witness& witness : witnesses_) {
      if (within(witness.spread, spread)) {
        return;
      }
    }
    std::erase_if(witnesses_, [&](const Witness& w) { return within(spread, w.spread); });
    const auto at = std::find_if(witnesses_.begin(), witnesses_.end(),
                                 [&](const Witness& w) { return w.spread.S > spread.S; });
    witnesses_.insert(at, Witness{spread, method, std::move(cells)});
  }

  /// Least Q reached with at most this S; a large number when none is.
  [[nodiscard]] std::int32_t reached(std::int32_t S) const {
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    for (const Witness& witness : witnesses_) {
      if (witness.spread.S <= S) {
        least = std::min(least, witness.spread.Q);
      }
    }
    return least;
  }

  [[nodiscard]] std::vector<Witness>& witnesses() { return witnesses_; }

 private:
  std::vector<Witness> witnesses_;
};

void offer_bands(const Instance& instance, bool flipped, Front& front) {
  const Instance turned{transposed(instance.grid), instance.capacities};
  const Instance& own = flipped ? turned : instance;
  const auto minipods = static_cast<std::int32_t>(own.capacities.size());
  const std::int32_t most = std::min(own.grid.columns, minipods);
  std::int32_t bands = std::min(own.grid.rows, minipods);
  // Every S up to 32, then steps of a quarter: what lies between is within a quarter of a neighbour.
  for (std::int32_t S = 1; S <= most && bands >= 1; S += std::max(1, S > 32 ? S / 4 : 1)) {
    // More minipods a band never need more bands, nor do fewer bands when fewer sufficed before.
    std::optional<std::vector<Band>> found;
    std::int32_t low = 1;
    std::int32_t high = bands;
    while (low <= high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (std::optional<std::vector<Band>> cut = cut_bands(own, {.S = S, .Q = middle}, kBandSteps)) {
        found = std::move(cut);
        high = middle - 1;
      } else {
        low = middle + 1;
      }
    }
    if (found) {
      Cells cells = fill_bands(own, *found);
      front.offer(instance.grid, flipped ? transposed(own.grid, cells) : std::move(cells), "bands");
      bands = high;
    }
  }
}

Front construct(const Instance& instance) {
  Front front;
  const Grid grid = instance.grid;
  const Instance turned{transposed(grid), instance.capacities};
  if (std::optional<Cells> cells = aligned_rows(instance)) {
    front.offer(grid, std::move(*cells), "aligned");
  }
  if (const std::optional<Cells> cells = aligned_rows(turned)) {
    front.offer(grid, transposed(turned.grid, *cells), "aligned");
  }
  front.offer(grid, sequential_fill(instance), "fill");
  front.offer(grid, transposed(turned.grid, sequential_fill(turned)), "fill");
  offer_bands(instance, false, front);
  offer_bands(instance, true, front);
  return front;
}

/// Pairs that no bound excludes, none dominated. Reached pairs need no test.
std::vector<Spread> possible_pairs(const Instance& instance, const Front& front) {
  const PairBounds bounds(instance);
  const auto minipods = static_cast<std::int32_t>(instance.capacities.size());
  std::vector<Spread> pairs;
  std::int32_t least_Q = std::min(instance.grid.rows, minipods) + 1;
  for (std::int32_t S = 1; S <= std::min(instance.grid.columns, minipods) && least_Q > 1; ++S) {
    std::int32_t Q = 1;
    const std::int32_t known = std::min(front.reached(S), least_Q);
    while (Q < known && !bounds.possible({.S = S, .Q = Q})) {
      ++Q;
    }
    if (Q < least_Q) {
      pairs.push_back({.S = S, .Q = Q});
      least_Q = Q;
    }
  }
  return pairs;
}

/// Least Q that no bound excludes at this S.
std::int32_t possible_Q(std::span<const Spread> bounds, std::int32_t S) {
  const auto bound = std::find_if(bounds.rbegin(), bounds.rend(), [S](Spread b) { return b.S <= S; });
  return bound == bounds.rend() ? std::numeric_limits<std::int32_t>::max() : bound->Q;
}

/// S of the columns of the table of pairs between what is proved and what is reached.
std::vector<std::int32_t> open_spreads(const Instance& instance, std::span<const Spread> bounds,
                                       const Front& front) {
  std::vector<std::int32_t> open;
  const auto minipods = static_cast<std::int32_t>(instance.capacities.size());
  for (std::int32_t S = 1; S <= std::min(instance.grid.columns, minipods); ++S) {
    if (possible_Q(bounds, S) < front.reached(S)) {
      open.push_back(S);
    }
  }
  return open;
}

/// Walks down from what is reached towards each bound; the first pair that the search misses ends the walk.
void search(const Instance& instance, std::span<const Spread> bounds, std::int64_t moves, Front& front) {
  const Instance turned{transposed(instance.grid), instance.capacities};
  const std::vector<std::int32_t> open = open_spreads(instance, bounds, front);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::int32_t S = open[i];
    while (possible_Q(bounds, S) < front.reached(S) && moves > 0) {
      std::int64_t share = moves / static_cast<std::int64_t>(open.size() - i);
      moves -= share;
      const Spread pair{.S = S, .Q = std::min(front.reached(S), instance.grid.rows + 1) - 1};
      std::int64_t half = share / 2;
      share -= half;
      std::optional<Cells> cells = find_strips(instance, pair, half);
      if (!cells) {
        cells = find_strips(turned, transposed(pair), share);
        cells = cells ? std::optional(transposed(turned.grid, *cells)) : std::nullopt;
      }
      moves += half + share;  // what was not used
      if (!cells) {
        break;
      }
      front.offer(instance.grid, std::move(*cells), "search");
    }
  }
}

/// Walks up from each bound until the pair is found or its share of the steps is spent; what is refuted
/// raises the bound.
void close_exactly(const Instance& instance, std::int64_t steps, Front& front, std::vector<Spread>& bounds) {
  const std::vector<std::int32_t> open = open_spreads(instance, bounds, front);
  const auto minipods = static_cast<std::int32_t>(instance.capacities.size());
  std::vector<Spread> closed;
  std::int32_t below = std::min(instance.grid.rows, minipods) + 1;
  for (std::int32_t S = 1; S <= std::min(instance.grid.columns, minipods) && below > 1; ++S) {
    const auto left = open.end() - std::lower_bound(open.begin(), open.end(), S);
    std::int64_t share = left > 0 ? steps / left : 0;
    steps -= share;
    std::int32_t Q = possible_Q(bounds, S);
    Verdict verdict = Verdict::kImpossible;
    while (verdict == Verdict::kImpossible && Q < std::min(front.reached(S), below)) {
      ExactResult result = decide(instance, {.S = S, .Q = Q}, share);
      verdict = result.verdict;
      if (verdict == Verdict::kFound) {
        front.offer(instance.grid, std::move(result.cells), "exact");
      }
      Q += verdict == Verdict::kImpossible ? 1 : 0;
    }
    steps += std::max<std::int64_t>(0, share);
    if (Q < below) {
      closed.push_back({.S = S, .Q = Q});
      below = Q;
    }
  }
  bounds = std::move(closed);
}

}  // namespace

std::vector<Witness> constructed(const Instance& instance) {
  return std::move(construct(instance).witnesses());
}

Portfolio solve_instance(const Instance& instance, const SolveLimits& limits) {
  Front front = construct(instance);
  Portfolio result;
  result.bounds = possible_pairs(instance, front);
  const double seconds = std::clamp(limits.seconds, 0.0, kMaxSeconds);
  // Small grids are decided faster than they are searched.
  if (instance.grid.cells() <= limits.exact_cells) {
    close_exactly(instance, static_cast<std::int64_t>(seconds * kStepsPerSecond), front, result.bounds);
  }
  search(instance, result.bounds, static_cast<std::int64_t>(seconds * kMovesPerSecond), front);
  result.witnesses = std::move(front.witnesses());
  return result;
}

Result<Canonical> canonical(std::span<const std::int32_t> capacities, Grid grid) {
  if (grid.rows < 1 || grid.columns < 1 || grid.cells() > kMaxCells) {
    return Error{Errc::kInvalidArgument, fmt::format("a grid of {} x {} nodes; it must have 1 to {} nodes",
                                                     grid.rows, grid.columns, kMaxCells)};
  }
  std::int64_t total = 0;
  for (std::size_t k = 0; k < capacities.size(); ++k) {
    if (capacities[k] < 0) {
      return Error{Errc::kInvalidArgument, fmt::format("minipod {} has capacity {}", k, capacities[k])};
    }
    total += capacities[k];
  }
  if (total < grid.cells()) {
    return Error{Errc::kResource, fmt::format("{} x {} needs {} nodes, but the minipods have {} usable ones",
                                              grid.rows, grid.columns, grid.cells(), total)};
  }
  Canonical result{{grid, {}}, {}, {}};
  for (std::size_t k = 0; k < capacities.size(); ++k) {
    if (capacities[k] > 0) {
      result.original.push_back(static_cast<MinipodId>(k));
    }
  }
  std::stable_sort(result.original.begin(), result.original.end(), [&](MinipodId a, MinipodId b) {
    return capacities[static_cast<std::size_t>(a)] > capacities[static_cast<std::size_t>(b)];
  });
  // A placement meets at most R C minipods, and larger ones serve no worse.
  result.original.resize(std::min(result.original.size(), static_cast<std::size_t>(grid.cells())));
  for (const MinipodId k : result.original) {
    result.sizes.push_back(capacities[static_cast<std::size_t>(k)]);
    result.instance.capacities.push_back(static_cast<std::int32_t>(
        std::min<std::int64_t>(capacities[static_cast<std::size_t>(k)], grid.cells())));
  }
  return result;
}

Result<Frontier> solve_frontier(std::span<const std::int32_t> capacities, Grid grid,
                                const SolveLimits& limits) {
  RUDDER_ASSIGN(const Canonical problem, canonical(capacities, grid));
  Portfolio solved = solve_instance(problem.instance, limits);
  Frontier frontier;
  for (const Witness& witness : solved.witnesses) {
    frontier.points.push_back({witness.spread, witness.method});
  }
  frontier.bounds = std::move(solved.bounds);
  return frontier;
}

void arrange(const Canonical& problem, double alpha, Cells& cells) {
  const Instance& instance = problem.instance;
  polish(instance, alpha, cells);
  // Names first, so that lines are ordered by the names that stay; then again by first mention.
  take_tightest(problem.sizes, cells);
  order_lines(instance.grid, cells);
  take_tightest(problem.sizes, cells);
}

Result<Cells> realise(std::span<const std::int32_t> capacities, Grid grid, Spread spread, double alpha,
                      const SolveLimits& limits) {
  if (!(alpha >= 0 && alpha <= 1)) {
    return Error{Errc::kInvalidArgument, fmt::format("alpha is {}; 0 to 1", alpha)};
  }
  RUDDER_ASSIGN(const Canonical problem, canonical(capacities, grid));
  for (Witness& witness : solve_instance(problem.instance, limits).witnesses) {
    if (witness.spread == spread) {
      arrange(problem, alpha, witness.cells);
      for (MinipodId& cell : witness.cells) {
        cell = problem.original[static_cast<std::size_t>(cell)];
      }
      return std::move(witness.cells);
    }
  }
  return Error{Errc::kInvalidArgument,
               fmt::format("({}, {}) is not on the frontier of this problem", spread.S, spread.Q)};
}

}  // namespace rudder::place
