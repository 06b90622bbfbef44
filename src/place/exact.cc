// SPDX-License-Identifier: Apache-2.0
#include "place/exact.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "rudder/core/check.h"

namespace rudder::place {
namespace {

using Set = std::uint32_t;
constexpr std::size_t kMaxMinipods = 12;
constexpr std::size_t kFreeLines =
    2;  ///< lines of each side that break the symmetry of minipods, not of lines

struct Lines {
  std::vector<Set> rows;
  std::vector<Set> columns;
};

class SetSearch {
 public:
  SetSearch(const Instance& instance, Spread pair, std::int64_t& steps)
      : instance_(instance), minipods_(instance.capacities.size()), steps_(steps) {
    room_.assign(std::size_t{1} << minipods_, 0);
    for (std::size_t set = 1; set < room_.size(); ++set) {
      const auto low = static_cast<std::size_t>(std::countr_zero(set));
      room_[set] = room_[set & (set - 1)] + instance.capacities[low];
    }
    served_.resize(room_.size());
    row_sets_ = line_sets(pair.S, instance.grid.columns);
    column_sets_ = line_sets(pair.Q, instance.grid.rows);
  }

  /// Rows and columns in turn, so that Hall's condition bites early.
  bool extend() {
    const auto rows = static_cast<std::size_t>(instance_.grid.rows);
    const auto columns = static_cast<std::size_t>(instance_.grid.columns);
    if (lines_.rows.size() == rows && lines_.columns.size() == columns) {
      return true;
    }
    const bool row = lines_.columns.size() == columns ||
                     (lines_.rows.size() < rows && lines_.rows.size() <= lines_.columns.size());
    std::vector<Set>& lines = row ? lines_.rows : lines_.columns;
    const std::vector<Set>& sets = row ? row_sets_ : column_sets_;
    // Equal lines are interchangeable: beyond the first few they come in ascending order of sets.
    const Set least = lines.size() > kFreeLines ? lines.back() : 0;
    for (const Set set : sets) {
      if (set < least || (lines.size() < kFreeLines && !canonical(set))) {
        continue;
      }
      lines.push_back(set);
      if (servable() && extend()) {
        return true;
      }
      lines.pop_back();
      if (steps_ < 0) {
        return false;
      }
    }
    return false;
  }

  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  /// Sets of exactly `size` minipods (more never hurts) that could serve a whole line.
  [[nodiscard]] std::vector<Set> line_sets(std::int32_t size, std::int32_t length) const {
    const auto bits = std::min(static_cast<std::size_t>(size), minipods_);
    std::vector<Set> sets;
    for (std::size_t set = 1; set < room_.size(); ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) == bits && room_[set] >= length) {
        sets.push_back(static_cast<Set>(set));
      }
    }
    return sets;
  }

  /// Minipods of equal capacity that occur in the same lines so far are interchangeable: of those, a set must
  /// take the first ones.
  [[nodiscard]] bool canonical(Set set) const {
    for (std::size_t k = 1; k < minipods_; ++k) {
      if (instance_.capacities[k] != instance_.capacities[k - 1] || (set >> k & 1U) == 0 ||
          (set >> (k - 1) & 1U) != 0) {
        continue;
      }
      const auto same = [k](Set line) { return (line >> k & 1U) == (line >> (k - 1) & 1U); };
      if (std::all_of(lines_.rows.begin(), lines_.rows.end(), same) &&
          std::all_of(lines_.columns.begin(), lines_.columns.end(), same)) {
        return false;
      }
    }
    return true;
  }

  /// Hall's condition, with all minipods open to lines that are still undecided.
  [[nodiscard]] bool servable() {
    std::fill(served_.begin(), served_.end(), 0);
    const auto rows_left = instance_.grid.rows - static_cast<std::int32_t>(lines_.rows.size());
    const auto columns_left = instance_.grid.columns - static_cast<std::int32_t>(lines_.columns.size());
    for (const Set row : lines_.rows) {
      for (const Set column : lines_.columns) {
        ++served_[row & column];
      }
      served_[row] += columns_left;
    }
    for (const Set column : lines_.columns) {
      served_[column] += rows_left;
    }
    served_.back() += rows_left * columns_left;
    for (std::size_t bit = 1; bit < served_.size(); bit <<= 1) {
      for (std::size_t set = 0; set < served_.size(); ++set) {
        served_[set] += (set & bit) != 0 ? served_[set ^ bit] : 0;
      }
    }
    steps_ -=
        static_cast<std::int64_t>(served_.size() * minipods_ + lines_.rows.size() * lines_.columns.size());
    for (std::size_t set = 0; set < served_.size(); ++set) {
      if (served_[set] > room_[set]) {
        return false;
      }
    }
    return true;
  }

  const Instance& instance_;
  std::size_t minipods_;
  std::int64_t& steps_;
  std::vector<std::int64_t> room_;    ///< capacity of each set
  std::vector<std::int64_t> served_;  ///< cells that only this set's subsets can serve
  std::vector<Set> row_sets_;
  std::vector<Set> column_sets_;
  Lines lines_;
};

/// Cells for sets that meet Hall's condition, by augmenting paths from cell to minipod.
class Assignment {
 public:
  Assignment(const Instance& instance, const Lines& lines)
      : instance_(instance), lines_(lines), cells_(cell_count(instance.grid), -1) {}

  [[nodiscard]] Cells run() {
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      seen_ = 0;
      RUDDER_CHECK(place(cell), "Hall's condition promises a minipod for each cell");
    }
    return cells_;
  }

 private:
  /// Recursion is at most one level a minipod.
  bool place(std::size_t cell) {
    const auto columns = static_cast<std::size_t>(instance_.grid.columns);
    const Set open = lines_.rows[cell / columns] & lines_.columns[cell % columns];
    for (std::size_t k = 0; k < instance_.capacities.size(); ++k) {
      if ((open >> k & 1U) == 0 || (seen_ >> k & 1U) != 0) {
        continue;
      }
      seen_ |= Set{1} << k;
      const auto minipod = static_cast<MinipodId>(k);
      if (std::count(cells_.begin(), cells_.end(), minipod) < instance_.capacities[k]) {
        cells_[cell] = minipod;
        return true;
      }
      for (std::size_t other = 0; other < cells_.size(); ++other) {
        if (cells_[other] == minipod && place(other)) {
          cells_[cell] = minipod;
          return true;
        }
      }
    }
    return false;
  }

  const Instance& instance_;
  const Lines& lines_;
  Cells cells_;
  Set seen_ = 0;
};

}  // namespace

ExactResult decide(const Instance& instance, Spread pair, std::int64_t& steps) {
  if (instance.capacities.size() > kMaxMinipods) {
    return {};
  }
  SetSearch search(instance, pair, steps);
  if (search.extend()) {
    return {Verdict::kFound, Assignment(instance, search.lines()).run()};
  }
  return {steps < 0 ? Verdict::kUndecided : Verdict::kImpossible, {}};
}

}  // namespace rudder::place
