// SPDX-License-Identifier: Apache-2.0
#include "place/strip_cells.h"

#include <algorithm>
#include <numeric>

#include "rudder/core/check.h"

namespace rudder::place {
namespace {

std::int32_t distinct_of(const std::vector<MinipodId>& run) {
  std::int32_t count = run.empty() ? 0 : 1;
  for (std::size_t i = 1; i < run.size(); ++i) {
    count += run[i] != run[i - 1] ? 1 : 0;
  }
  return count;
}

}  // namespace

StripCells::StripCells(const Instance& instance, bool sharing)
    : instance_(instance),
      sharing_(sharing),
      cells_(cell_count(instance.grid), -1),
      met_(static_cast<std::size_t>(instance.grid.rows), 0) {}

std::vector<StripCells::Column> StripCells::columns_of(const StripLayer& layer, std::int32_t width) const {
  const auto height = static_cast<std::size_t>(layer.height);
  std::vector<MinipodId> run;
  for (const MinipodId k : layer.minipods) {
    const std::int32_t capacity = instance_.capacities[static_cast<std::size_t>(k)];
    const std::int32_t taken = sharing_ ? capacity : capacity / layer.height * layer.height;
    run.insert(run.end(), static_cast<std::size_t>(taken), k);
  }
  RUDDER_CHECK(run.size() >= height * static_cast<std::size_t>(width), "a layer's minipods fill it");
  std::vector<Column> columns;
  for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
    const auto first = run.begin() + static_cast<std::ptrdiff_t>(c * height);
    columns.emplace_back(first, first + static_cast<std::ptrdiff_t>(height));
  }
  return columns;
}

void StripCells::lay(const std::vector<Column>& columns, const std::vector<std::int32_t>& rows,
                     std::int32_t width) {
  for (std::int32_t c = 0; c < width; ++c) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      cells_[cell_at(instance_.grid, rows[r], next_column_ + c)] = columns[static_cast<std::size_t>(c)][r];
    }
  }
}

void StripCells::add(std::int32_t width, const std::vector<StripLayer>& layers) {
  // Rows in ascending order of what they meet so far; layers of many minipods take them first.
  std::vector<std::int32_t> order(met_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return met_[static_cast<std::size_t>(a)] < met_[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> load(static_cast<std::size_t>(width), 0);  // minipods of each column
  auto next = order.begin();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    std::vector<std::int32_t> rows(next, next + layer->height);
    next += layer->height;
    std::sort(rows.begin(), rows.end());
    std::vector<Column> columns = columns_of(*layer, width);
    if (sharing_) {
      // The columns with most minipods go where the strip's columns have fewest.
      std::vector<std::size_t> target(load.size());
      std::iota(target.begin(), target.end(), 0);
      std::stable_sort(target.begin(), target.end(),
                       [&](std::size_t a, std::size_t b) { return load[a] < load[b]; });
      std::stable_sort(columns.begin(), columns.end(),
                       [](const Column& a, const Column& b) { return distinct_of(a) > distinct_of(b); });
      std::vector<Column> placed(columns.size());
      for (std::size_t c = 0; c < columns.size(); ++c) {
        load[target[c]] += distinct_of(columns[c]);
        placed[target[c]] = std::move(columns[c]);
      }
      columns = std::move(placed);
    }
    lay(columns, rows, width);
    for (const std::int32_t row : rows) {
      met_[static_cast<std::size_t>(row)] += static_cast<std::int32_t>(layer->minipods.size());
    }
  }
  next_column_ += width;
}

Cells StripCells::take() {
  RUDDER_CHECK(std::find(cells_.begin(), cells_.end(), -1) == cells_.end(), "strips cover the grid");
  return std::move(cells_);
}

}  // namespace rudder::place
