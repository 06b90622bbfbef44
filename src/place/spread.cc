// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rudder/core/check.h"
#include "rudder/place/placement.h"

namespace rudder::place {
namespace {

double objective(Spread spread, double alpha) {
  return alpha * spread.Q + (1.0 - alpha) * spread.S;
}

/// Distinct values of a strided line; lines are short, so sorting a copy beats any set.
std::int32_t distinct(std::span<const MinipodId> cells, std::size_t first, std::size_t stride,
                      std::size_t count, std::vector<MinipodId>& line) {
  line.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    line[i] = cells[first + i * stride];
  }
  std::sort(line.begin(), line.end());
  return static_cast<std::int32_t>(std::unique(line.begin(), line.end()) - line.begin());
}

}  // namespace

double Frontier::lower_bound(double alpha) const {
  RUDDER_CHECK(!bounds.empty(), "a frontier has bounds");
  double least = objective(bounds.front(), alpha);
  for (const Spread& bound : bounds) {
    least = std::min(least, objective(bound, alpha));
  }
  return least;
}

const FrontierPoint& Frontier::best(double alpha) const {
  RUDDER_CHECK(!points.empty(), "a frontier has points");
  const auto key = [alpha](const FrontierPoint& point) {
    const std::int32_t lighter = alpha < 0.5 ? point.spread.Q : point.spread.S;
    return std::pair(objective(point.spread, alpha), lighter);
  };
  return *std::min_element(points.begin(), points.end(),
                           [&](const FrontierPoint& a, const FrontierPoint& b) { return key(a) < key(b); });
}

Spread spread_of(Grid grid, std::span<const MinipodId> cells) {
  const auto rows = static_cast<std::size_t>(grid.rows);
  const auto columns = static_cast<std::size_t>(grid.columns);
  RUDDER_CHECK(cells.size() == rows * columns, "a minipod a cell");
  std::vector<MinipodId> line;
  Spread spread;
  for (std::size_t r = 0; r < rows; ++r) {
    spread.S = std::max(spread.S, distinct(cells, r * columns, 1, columns, line));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    spread.Q = std::max(spread.Q, distinct(cells, c, columns, rows, line));
  }
  return spread;
}

}  // namespace rudder::place
