// SPDX-License-Identifier: Apache-2.0
#include "place/constructions.h"

#include <algorithm>
#include <span>

#include "rudder/core/check.h"

#include "place/bounds.h"

namespace rudder::place {
namespace {

class BandSearch {
 public:
  BandSearch(const Instance& instance, Spread pair, std::int64_t steps)
      : instance_(instance), pair_(pair), steps_(steps), taken_(instance.capacities.size(), false) {}

  bool cover(std::int32_t rows, std::int32_t bands) {
    if (rows == 0) {
      return true;
    }
    if (bands == 0) {
      return false;
    }
    // Heights that repeat the even split come first: they are the likeliest to fit.
    const std::int32_t even = (rows + bands - 1) / bands;
    for (std::int32_t height = even; height <= rows; ++height) {
      Band band{height, {}};
      if (!take(band)) {
        return false;  // a taller band needs more
      }
      bands_.push_back(band);
      if (cover(rows - height, bands - 1)) {
        return true;
      }
      for (const MinipodId k : bands_.back().minipods) {
        taken_[static_cast<std::size_t>(k)] = false;
      }
      bands_.pop_back();
    }
    return false;
  }

  [[nodiscard]] std::vector<Band>& bands() { return bands_; }

 private:
  /// Largest minipods first, the last one the tightest that completes the band.
  bool take(Band& band) {
    std::int32_t missing = instance_.grid.columns;
    const auto width = [&](std::size_t k) { return instance_.capacities[k] / band.height; };
    for (std::size_t k = 0; k < taken_.size() && width(k) > 0 && --steps_ >= 0; ++k) {
      if (taken_[k]) {
        continue;
      }
      if (static_cast<std::int32_t>(band.minipods.size()) == pair_.S) {
        break;
      }
      std::size_t chosen = k;
      if (width(k) >= missing) {
        for (std::size_t next = k; next < taken_.size() && width(next) >= missing && --steps_ >= 0; ++next) {
          chosen = taken_[next] ? chosen : next;
        }
      }
      band.minipods.push_back(static_cast<MinipodId>(chosen));
      taken_[chosen] = true;
      missing -= width(chosen);
      if (missing <= 0) {
        return true;
      }
    }
    for (const MinipodId k : band.minipods) {
      taken_[static_cast<std::size_t>(k)] = false;
    }
    return false;
  }

  const Instance& instance_;
  Spread pair_;
  std::int64_t steps_;
  std::vector<bool> taken_;
  std::vector<Band> bands_;
};

}  // namespace

Cells sequential_fill(const Instance& instance) {
  Cells cells(cell_count(instance.grid));
  std::size_t k = 0;
  std::int32_t left = instance.capacities[0];
  for (MinipodId& cell : cells) {
    while (left == 0) {
      left = instance.capacities[++k];
    }
    cell = static_cast<MinipodId>(k);
    --left;
  }
  return cells;
}

std::optional<Cells> aligned_rows(const Instance& instance) {
  const Grid grid = instance.grid;
  const std::int32_t minipods = aligned_columns(grid, instance.capacities);
  if (minipods == 0) {
    return std::nullopt;
  }
  Cells cells;
  cells.reserve(cell_count(grid));
  std::int32_t rows_left = grid.rows;
  for (std::int32_t k = 0; k < minipods; ++k) {
    const std::int32_t rows =
        std::min(rows_left, instance.capacities[static_cast<std::size_t>(k)] / grid.columns);
    cells.insert(cells.end(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(grid.columns), k);
    rows_left -= rows;
  }
  return cells;
}

std::optional<std::vector<Band>> cut_bands(const Instance& instance, Spread pair, std::int64_t steps) {
  BandSearch search(instance, pair, steps);
  if (!search.cover(instance.grid.rows, pair.Q)) {
    return std::nullopt;
  }
  return std::move(search.bands());
}

Cells fill_bands(const Instance& instance, std::span<const Band> bands) {
  Cells cells;
  cells.reserve(cell_count(instance.grid));
  for (const Band& band : bands) {
    Cells row;
    for (const MinipodId k : band.minipods) {
      const std::size_t room = static_cast<std::size_t>(instance.grid.columns) - row.size();
      const auto width =
          static_cast<std::size_t>(instance.capacities[static_cast<std::size_t>(k)] / band.height);
      row.insert(row.end(), std::min(room, width), k);
    }
    for (std::int32_t r = 0; r < band.height; ++r) {
      cells.insert(cells.end(), row.begin(), row.end());
    }
  }
  RUDDER_CHECK(cells.size() == cell_count(instance.grid), "bands cover the grid");
  return cells;
}

}  // namespace rudder::place
