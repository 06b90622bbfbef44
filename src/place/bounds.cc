// SPDX-License-Identifier: Apache-2.0
// Minipod k covers n_k cells in a_k rows and b_k columns: n_k <= min(c_k, a_k b_k), the a_k sum to at most
// R S and the b_k to at most C Q. B1 to B3 are what follows from that.
#include "place/bounds.h"

#include <algorithm>
#include <cmath>

namespace rudder::place {
namespace {

constexpr std::int64_t kRelaxedWork = 20'000'000;  ///< about 20 ms
constexpr std::int64_t kBudgetWork = 40'000'000;   ///< about 0.1 s a pair

/// Best of old[x - a] + a b over 0 <= a <= limit into `best`, by a queue of decreasing candidates.
void add_linear(std::span<const std::int32_t> old, std::int32_t b, std::size_t limit,
                std::vector<std::uint32_t>& queue, std::span<std::int32_t> best) {
  queue.clear();
  std::size_t head = 0;
  const auto key = [&](std::size_t x) { return old[x] - static_cast<std::int32_t>(x) * b; };
  for (std::size_t x = 0; x < old.size(); ++x) {
    while (queue.size() > head && key(queue.back()) <= key(x)) {
      queue.pop_back();
    }
    queue.push_back(static_cast<std::uint32_t>(x));
    if (queue[head] + limit < x) {
      ++head;
    }
    best[x] = std::max(best[x], key(queue[head]) + static_cast<std::int32_t>(x) * b);
  }
}

/// The row of the table that spends b columns on a minipod of this capacity.
void add_minipod(std::span<const std::int32_t> old, std::int32_t capacity, std::int32_t b, std::int32_t rows,
                 std::vector<std::uint32_t>& queue, std::span<std::int32_t> best) {
  add_linear(old, b, static_cast<std::size_t>(std::min(rows, capacity / b)), queue, best);
  const std::int32_t whole = (capacity + b - 1) / b;
  if (capacity % b != 0 && whole <= rows) {
    for (auto x = static_cast<std::size_t>(whole); x < old.size(); ++x) {
      best[x] = std::max(best[x], old[x - static_cast<std::size_t>(whole)] + capacity);
    }
  }
}

}  // namespace

std::int32_t aligned_columns(Grid grid, std::span<const std::int32_t> capacities) {
  std::int64_t rows = 0;
  for (std::size_t m = 0; m < capacities.size(); ++m) {
    rows += capacities[m] / grid.columns;
    if (rows >= grid.rows) {
      return static_cast<std::int32_t>(m + 1);
    }
  }
  return 0;
}

std::int32_t line_bound(std::int32_t length, std::span<const std::int32_t> capacities) {
  std::int64_t cells = 0;
  std::int32_t used = 0;
  while (cells < length && used < static_cast<std::int32_t>(capacities.size())) {
    cells += std::min(capacities[static_cast<std::size_t>(used)], length);
    ++used;
  }
  return used;
}

std::int64_t product_bound(Grid grid, std::span<const std::int32_t> capacities) {
  std::int64_t left = grid.cells();
  double roots = 0;
  for (const std::int32_t capacity : capacities) {
    const std::int64_t taken = std::min<std::int64_t>(left, capacity);
    roots += std::sqrt(static_cast<double>(taken));
    left -= taken;
    if (left == 0) {
      break;
    }
  }
  // Rounding must not raise a bound: a hair is taken off before rounding up.
  const double product = roots * roots / static_cast<double>(grid.cells());
  return static_cast<std::int64_t>(std::ceil(product * (1 - 1e-12) - 1e-9));
}

PairBounds::PairBounds(const Instance& instance)
    : instance_(instance),
      least_S_(line_bound(instance.grid.columns, instance.capacities)),
      least_Q_(line_bound(instance.grid.rows, instance.capacities)),
      aligned_Q_(aligned_columns(instance.grid, instance.capacities)),
      aligned_S_(aligned_columns(transposed(instance.grid), instance.capacities)),
      product_(product_bound(instance.grid, instance.capacities)) {
  const Grid grid = instance.grid;
  const auto minipods = static_cast<std::int64_t>(instance.capacities.size());
  const std::int64_t budget = grid.columns * std::min<std::int64_t>(grid.rows, minipods);
  const std::int64_t prices = 2 * std::int64_t{grid.columns} + 1;
  if (static_cast<double>(budget) * static_cast<double>(prices * minipods) * grid.columns >
      static_cast<double>(kRelaxedWork)) {
    return;
  }
  for (std::int64_t price = 0; price < prices; ++price) {
    std::vector<std::int64_t> best(static_cast<std::size_t>(budget) + 1, 0);
    for (const std::int32_t capacity : instance.capacities) {
      const std::vector<std::int64_t> old = best;
      for (std::int32_t b = 1; b <= grid.columns; ++b) {
        const std::int64_t full = std::min(grid.rows, capacity / b);
        const std::int64_t over = std::min(grid.rows, (capacity + b - 1) / b);
        const std::int64_t gain = std::max(2 * full * b - price * full,
                                           2 * std::min<std::int64_t>(capacity, over * b) - price * over);
        for (auto y = static_cast<std::size_t>(b); gain > 0 && y < best.size(); ++y) {
          best[y] = std::max(best[y], old[y - static_cast<std::size_t>(b)] + gain);
        }
      }
    }
    relaxed_.push_back(std::move(best));
  }
}

bool PairBounds::relaxed_budget(Spread pair) const {
  const std::int64_t rows = std::int64_t{instance_.grid.rows} * pair.S;
  const std::int64_t columns = std::int64_t{instance_.grid.columns} * pair.Q;
  for (std::size_t price = 0; price < relaxed_.size(); ++price) {
    const auto y = std::min(static_cast<std::size_t>(columns), relaxed_[price].size() - 1);
    if (relaxed_[price][y] + static_cast<std::int64_t>(price) * rows < 2 * instance_.grid.cells()) {
      return false;
    }
  }
  return true;
}

bool PairBounds::rectangle_budget(Spread pair) const {
  // The inner loop runs over widths b, so the shorter side plays the columns.
  const bool flip = instance_.grid.columns > instance_.grid.rows;
  const Grid grid = flip ? transposed(instance_.grid) : instance_.grid;
  const Spread limit = flip ? transposed(pair) : pair;
  const std::int64_t rows = std::int64_t{grid.rows} * limit.S;
  const std::int64_t columns = std::int64_t{grid.columns} * limit.Q;
  const double work = static_cast<double>(rows) * static_cast<double>(columns) *
                      static_cast<double>(instance_.capacities.size()) * grid.columns;
  if (work > static_cast<double>(kBudgetWork)) {
    return true;
  }
  const auto stride = static_cast<std::size_t>(rows) + 1;
  const auto height = static_cast<std::size_t>(columns) + 1;
  std::vector<std::int32_t> table(stride * height, 0);
  std::vector<std::uint32_t> queue;
  queue.reserve(stride);
  for (const std::int32_t capacity : instance_.capacities) {
    // Downwards in y, a row reads only rows that still hold the table without this minipod.
    for (std::size_t y = height - 1; y >= 1; --y) {
      const std::span<std::int32_t> best(table.data() + y * stride, stride);
      const auto widest = static_cast<std::int32_t>(
          std::min<std::int64_t>({grid.columns, static_cast<std::int64_t>(y), capacity}));
      for (std::int32_t b = 1; b <= widest; ++b) {
        const std::size_t from = y - static_cast<std::size_t>(b);
        add_minipod({table.data() + from * stride, stride}, capacity, b, grid.rows, queue, best);
      }
    }
    if (table.back() >= grid.cells()) {
      return true;
    }
  }
  return false;
}

bool PairBounds::possible(Spread pair) const {
  if (pair.S < least_S_ || pair.Q < least_Q_ || std::int64_t{pair.S} * pair.Q < product_) {
    return false;
  }
  if (pair.S == 1) {
    return aligned_Q_ > 0 && pair.Q >= aligned_Q_;
  }
  if (pair.Q == 1) {
    return aligned_S_ > 0 && pair.S >= aligned_S_;
  }
  return relaxed_budget(pair) && rectangle_budget(pair);
}

}  // namespace rudder::place
