// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/check.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

namespace rudder::place {
namespace {

std::int32_t spread_value(std::size_t distinct, Metric metric) {
  const auto count = static_cast<std::int32_t>(distinct);
  return metric == Metric::kRing && count == 1 ? 0 : count;
}

}  // namespace

Result<CheckedCells> check_cells(std::int32_t rows, std::int32_t columns, std::span<const std::int32_t> cells,
                                 std::span<const std::int32_t> capacities, double alpha, Metric metric) {
  if (rows < 1 || columns < 1 || static_cast<std::int64_t>(cells.size()) != std::int64_t{rows} * columns) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} cells for a grid of {} x {}", cells.size(), rows, columns)};
  }
  std::vector<std::set<std::int32_t>> of_row(static_cast<std::size_t>(rows));
  std::vector<std::set<std::int32_t>> of_column(static_cast<std::size_t>(columns));
  std::map<std::int32_t, std::int64_t> used;
  CheckedCells result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(columns);
    const std::size_t column = i % static_cast<std::size_t>(columns);
    if (cells[i] < 0 || static_cast<std::size_t>(cells[i]) >= capacities.size()) {
      return Error{Errc::kInvalidArgument, fmt::format("cell ({}, {}) is in minipod {} of {}", row, column,
                                                       cells[i], capacities.size())};
    }
    of_row[row].insert(cells[i]);
    of_column[column].insert(cells[i]);
    ++used[cells[i]];
    result.cuts += column > 0 && cells[i] != cells[i - 1] ? 1 : 0;
  }
  for (const auto& [minipod, count] : used) {
    if (count > capacities[static_cast<std::size_t>(minipod)]) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("minipod {} serves {} cells, but has capacity {}", minipod, count,
                               capacities[static_cast<std::size_t>(minipod)])};
    }
  }
  result.minipods = static_cast<std::int32_t>(used.size());
  const auto measure = [metric](const std::vector<std::set<std::int32_t>>& lines, std::int32_t& most,
                                std::int32_t& worst, double& mean) {
    most = -1;
    for (std::size_t line = 0; line < lines.size(); ++line) {
      const std::int32_t value = spread_value(lines[line].size(), metric);
      mean += static_cast<double>(value) / static_cast<double>(lines.size());
      if (value > most) {
        most = value;
        worst = static_cast<std::int32_t>(line);
      }
    }
  };
  measure(of_row, result.S, result.worst_row, result.mean_S);
  measure(of_column, result.Q, result.worst_column, result.mean_Q);
  result.J = alpha * result.Q + (1 - alpha) * result.S;
  return result;
}

Status check_injective(std::int32_t columns, std::span<const std::string> hosts) {
  std::map<std::string, std::size_t> cell_of;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto [other, fresh] = cell_of.emplace(hosts[i], i);
    if (!fresh) {
      const auto width = static_cast<std::size_t>(std::max(1, columns));
      return Error{Errc::kInvalidArgument,
                   fmt::format("host {} serves both cell ({}, {}) and cell ({}, {})", hosts[i],
                               other->second / width, other->second % width, i / width, i % width)};
    }
  }
  return {};
}

}  // namespace rudder::place
