// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "rudder/core/rng.h"
#include "rudder/place/baselines.h"

#include "place/solver.h"

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxBisected = 1 << 13;
constexpr int kPasses = 8;

/// Two sides of some of the grid's cells. Cells of a column all attract each other, so side counts a column
/// replace their edges.
class Bisection {
 public:
  Bisection(Grid grid, const TrafficWeights& weights, const std::vector<std::size_t>& cells)
      : grid_(grid),
        pair_(weights.dp / grid.rows),
        neighbour_(weights.pp),
        cells_(cells),
        side_(cell_count(grid), kOutside),
        left_(static_cast<std::size_t>(grid.columns), 0),
        right_(static_cast<std::size_t>(grid.columns), 0) {
    for (const std::size_t cell : cells) {
      side_[cell] = kRight;
      ++right_[column(cell)];
    }
  }

  /// Moves `count` cells to the left, each the one that lowers the cut most, from a first one on.
  void grow(std::size_t count, std::size_t first) {
    for (std::size_t moved = 0; moved < count; ++moved) {
      flip(moved == 0 ? first : best(kRight, {}));
    }
  }

  /// Exchanges pairs until a pass gains nothing; a pass exchanges each cell once and keeps its best prefix.
  void refine() {
    for (int pass = 0; pass < kPasses; ++pass) {
      std::vector<bool> locked(side_.size(), false);
      std::vector<std::size_t> flipped;
      double gain = 0;
      double most = 1e-9;
      std::size_t keep = 0;
      for (;;) {
        const std::size_t from_left = best(kLeft, locked);
        if (from_left == kNone) {
          break;
        }
        gain += gain_of(from_left);
        flip(from_left);
        locked[from_left] = true;
        const std::size_t from_right = best(kRight, locked);
        if (from_right == kNone) {
          flip(from_left);
          break;
        }
        gain += gain_of(from_right);
        flip(from_right);
        locked[from_right] = true;
        flipped.insert(flipped.end(), {from_left, from_right});
        if (gain > most) {
          most = gain;
          keep = flipped.size();
        }
      }
      for (std::size_t i = flipped.size(); i > keep; --i) {
        flip(flipped[i - 1]);
      }
      if (keep == 0) {
        return;
      }
    }
  }

  [[nodiscard]] bool is_left(std::size_t cell) const { return side_[cell] == kLeft; }

 private:
  enum Side : std::uint8_t { kOutside, kLeft, kRight };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] std::size_t column(std::size_t cell) const {
    return cell % static_cast<std::size_t>(grid_.columns);
  }

  /// By how much the cut falls when the cell changes sides.
  [[nodiscard]] double gain_of(std::size_t cell) const {
    const std::size_t c = column(cell);
    const std::int32_t own = (side_[cell] == kLeft ? left_[c] : right_[c]) - 1;
    const std::int32_t other = side_[cell] == kLeft ? right_[c] : left_[c];
    double gain = pair_ * (other - own);
    const auto edge = [&](std::size_t next) {
      gain += side_[next] == kOutside ? 0 : (side_[next] == side_[cell] ? -neighbour_ : neighbour_);
    };
    if (c > 0) {
      edge(cell - 1);
    }
    if (c + 1 < static_cast<std::size_t>(grid_.columns)) {
      edge(cell + 1);
    }
    return gain;
  }

  [[nodiscard]] std::size_t best(Side side, const std::vector<bool>& locked) const {
    std::size_t found = kNone;
    double most = 0;
    for (const std::size_t cell : cells_) {
      if (side_[cell] != side || (!locked.empty() && locked[cell])) {
        continue;
      }
      const double gain = gain_of(cell);
      if (found == kNone || gain > most + 1e-12) {
        found = cell;
        most = gain;
      }
    }
    return found;
  }

  void flip(std::size_t cell) {
    const bool to_left = side_[cell] == kRight;
    side_[cell] = to_left ? kLeft : kRight;
    left_[column(cell)] += to_left ? 1 : -1;
    right_[column(cell)] += to_left ? -1 : 1;
  }

  Grid grid_;
  double pair_;
  double neighbour_;
  const std::vector<std::size_t>& cells_;
  std::vector<Side> side_;
  std::vector<std::int32_t> left_;
  std::vector<std::int32_t> right_;
};

struct Part {
  std::vector<std::size_t> cells;
  std::size_t first = 0;  ///< minipods [first, last)
  std::size_t last = 0;
};

std::int64_t room(std::span<const std::int32_t> capacities, std::size_t first, std::size_t last) {
  return std::accumulate(capacities.begin() + static_cast<std::ptrdiff_t>(first),
                         capacities.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{0});
}

/// Cells for the left half: all in the tighter half that holds them, else in proportion to the capacities.
std::size_t left_share(std::int64_t cells, std::int64_t left, std::int64_t right) {
  if (std::max(left, right) >= cells) {
    const bool to_left = left >= cells && (right < cells || left <= right);
    return static_cast<std::size_t>(to_left ? cells : 0);
  }
  const auto share = static_cast<std::int64_t>(
      static_cast<double>(cells) * static_cast<double>(left) / static_cast<double>(left + right) + 0.5);
  return static_cast<std::size_t>(
      std::clamp(share, std::max<std::int64_t>(0, cells - right), std::min(left, cells)));
}

}  // namespace

Result<Cells> topo_aware(std::span<const std::int32_t> capacities, Grid grid, const TrafficWeights& weights,
                         std::uint64_t seed) {
  RUDDER_TRY(canonical(capacities, grid));
  if (grid.cells() > kMaxBisected) {
    return Error{Errc::kUnsupported,
                 fmt::format("bisection of {} cells; at most {}", grid.cells(), kMaxBisected)};
  }
  if (!(weights.dp >= 0 && weights.pp >= 0)) {
    return Error{Errc::kInvalidArgument, fmt::format("traffic weights {} and {}", weights.dp, weights.pp)};
  }
  Cells result(cell_count(grid), -1);
  std::vector<Part> parts(1);
  parts[0].cells.resize(result.size());
  std::iota(parts[0].cells.begin(), parts[0].cells.end(), std::size_t{0});
  parts[0].last = capacities.size();
  while (!parts.empty()) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    if (part.cells.empty()) {
      continue;
    }
    if (part.last - part.first == 1) {
      for (const std::size_t cell : part.cells) {
        result[cell] = static_cast<MinipodId>(part.first);
      }
      continue;
    }
    const std::size_t middle = (part.first + part.last) / 2;
    const std::size_t count =
        left_share(static_cast<std::int64_t>(part.cells.size()), room(capacities, part.first, middle),
                   room(capacities, middle, part.last));
    Bisection bisection(grid, weights, part.cells);
    CounterRng rng({seed, part.first, part.last});
    bisection.grow(count, part.cells[rng.below(part.cells.size())]);
    bisection.refine();
    Part halves[2] = {{{}, part.first, middle}, {{}, middle, part.last}};
    for (const std::size_t cell : part.cells) {
      halves[bisection.is_left(cell) ? 0 : 1].cells.push_back(cell);
    }
    parts.push_back(std::move(halves[0]));
    parts.push_back(std::move(halves[1]));
  }
  return result;
}

}  // namespace rudder::place
