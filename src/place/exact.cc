// SPDX-License-Identifier: Apache-2.0
#include "place/exact.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <span>

#include "rudder/core/check.h"

namespace rudder::place {
namespace {

using Set = std::uint32_t;
constexpr std::size_t kMaxMinipods = 12;
constexpr std::size_t kFreeLines = 2;  ///< rows that break the symmetry of minipods, not of rows

struct Lines {
  std::vector<Set> rows;
  std::vector<Set> columns;
};

/// served[X] becomes the sum over subsets of X, in place.
void sum_over_subsets(std::vector<std::int32_t>& served) {
  for (std::size_t bit = 1; bit < served.size(); bit <<= 1) {
    for (std::size_t set = 0; set < served.size(); ++set) {
      served[set] += (set & bit) != 0 ? served[set ^ bit] : 0;
    }
  }
}

/// Columns of a grid whose rows' sets are fixed: a column with set B needs profile_B[X] cells of each X, and
/// the sums may not exceed room[X]. A search over multisets of column sets.
class ColumnPacking {
 public:
  ColumnPacking(const Instance& instance, std::span<const Set> rows, std::span<const Set> columns,
                std::span<const std::int64_t> room, std::int64_t budget, std::int64_t& steps)
      : instance_(instance), budget_(budget), steps_(steps) {
    std::vector<std::vector<std::int32_t>> profiles;
    for (const Set column : columns) {
      std::vector<std::int32_t> profile(room.size(), 0);
      for (const Set row : rows) {
        ++profile[row & column];
      }
      sum_over_subsets(profile);
      steps_ -= static_cast<std::int64_t>(room.size() * instance.capacities.size());
      if (profile[0] == 0) {
        sets_.push_back(column);
        profiles.push_back(std::move(profile));
      }
    }
    keep_binding(profiles, room);
    rows_of_.resize(instance.capacities.size());
    for (const Set row : rows) {
      for (std::size_t k = 0; k < rows_of_.size(); ++k) {
        rows_of_[k] += static_cast<std::int32_t>(row >> k & 1U);
      }
    }
    columns_of_.resize(rows_of_.size());
  }

  bool extend(std::size_t first, std::int32_t left) {
    if (left == 0) {
      return true;
    }
    if (!budget_suffices(left)) {
      return false;
    }
    for (std::size_t i = first; i < sets_.size() && steps_ >= 0; ++i) {
      if (add(i, left)) {
        chosen_.push_back(sets_[i]);
        count(sets_[i], 1);
        if (extend(i, left - 1)) {
          return true;
        }
        count(sets_[i], -1);
        chosen_.pop_back();
      }
      subtract(i);
    }
    return false;
  }

  [[nodiscard]] const std::vector<Set>& chosen() const { return chosen_; }

 private:
  /// Only sets X that some choice of columns could overfill matter.
  void keep_binding(const std::vector<std::vector<std::int32_t>>& profiles,
                    std::span<const std::int64_t> room) {
    profiles_.resize(profiles.size());
    for (std::size_t set = 0; set < room.size() && !profiles.empty(); ++set) {
      std::int32_t least = instance_.grid.rows;
      std::int32_t most = 0;
      for (const std::vector<std::int32_t>& profile : profiles) {
        least = std::min(least, profile[set]);
        most = std::max(most, profile[set]);
      }
      if (std::int64_t{most} * instance_.grid.columns <= room[set]) {
        continue;
      }
      room_.push_back(room[set]);
      least_.push_back(least);
      for (std::size_t i = 0; i < profiles.size(); ++i) {
        profiles_[i].push_back(profiles[i][set]);
      }
    }
    used_.assign(room_.size(), 0);
  }

  /// Adds a column; false when even the least of what is left does not fit.
  bool add(std::size_t i, std::int32_t left) {
    bool fits = true;
    for (std::size_t x = 0; x < room_.size(); ++x) {
      used_[x] += profiles_[i][x];
      fits = fits && used_[x] + std::int64_t{left - 1} * least_[x] <= room_[x];
    }
    steps_ -= static_cast<std::int64_t>(room_.size()) + 16;
    return fits;
  }

  void subtract(std::size_t i) {
    for (std::size_t x = 0; x < room_.size(); ++x) {
      used_[x] -= profiles_[i][x];
    }
  }

  void count(Set set, std::int32_t by) {
    for (std::size_t k = 0; k < columns_of_.size(); ++k) {
      columns_of_[k] += (set >> k & 1U) != 0 ? by : 0;
    }
  }

  /// Minipod k covers at most min(c_k, a_k b_k) cells; the columns left may raise the b_k by `budget_` each
  /// in all. The gain of one more column falls as b_k grows, so the best raises are taken greedily.
  [[nodiscard]] bool budget_suffices(std::int32_t left) {
    std::int64_t cells = 0;
    gains_.clear();
    for (std::size_t k = 0; k < rows_of_.size(); ++k) {
      std::int32_t covered = std::min(instance_.capacities[k], rows_of_[k] * columns_of_[k]);
      cells += covered;
      for (std::int32_t more = 0; more < left && covered < instance_.capacities[k]; ++more) {
        const std::int32_t gain = std::min(rows_of_[k], instance_.capacities[k] - covered);
        gains_.push_back(gain);
        covered += gain;
        if (gain == 0) {
          break;
        }
      }
    }
    const auto raises = std::min(gains_.size(), static_cast<std::size_t>(budget_ * left));
    std::partial_sort(gains_.begin(), gains_.begin() + static_cast<std::ptrdiff_t>(raises), gains_.end(),
                      std::greater<>());
    return std::accumulate(gains_.begin(), gains_.begin() + static_cast<std::ptrdiff_t>(raises), cells) >=
           instance_.grid.cells();
  }

  const Instance& instance_;
  std::int64_t budget_;
  std::int64_t& steps_;
  std::vector<Set> sets_;
  std::vector<std::vector<std::int32_t>> profiles_;  ///< of each set, for the X that bind
  std::vector<std::int64_t> room_;
  std::vector<std::int32_t> least_;
  std::vector<std::int64_t> used_;
  std::vector<std::int32_t> rows_of_;     ///< a_k
  std::vector<std::int32_t> columns_of_;  ///< b_k so far
  std::vector<std::int32_t> gains_;
  std::vector<Set> chosen_;
};

/// Sets of the rows, then of the columns.
class SetSearch {
 public:
  SetSearch(const Instance& instance, Spread pair, std::int64_t& steps)
      : instance_(instance), minipods_(instance.capacities.size()), pair_(pair), steps_(steps) {
    room_.assign(std::size_t{1} << minipods_, 0);
    for (std::size_t set = 1; set < room_.size(); ++set) {
      const auto low = static_cast<std::size_t>(std::countr_zero(set));
      room_[set] = room_[set & (set - 1)] + instance.capacities[low];
    }
    row_sets_ = line_sets(pair.S, instance.grid.columns);
    column_sets_ = line_sets(pair.Q, instance.grid.rows);
  }

  bool extend() {
    if (lines_.rows.size() == static_cast<std::size_t>(instance_.grid.rows)) {
      ColumnPacking packing(instance_, lines_.rows, column_sets_, room_, pair_.Q, steps_);
      if (packing.extend(0, instance_.grid.columns)) {
        lines_.columns = packing.chosen();
        return true;
      }
      return false;
    }
    // Equal rows are interchangeable: beyond the first few, which break the symmetry of equal minipods, they
    // come in ascending order of sets.
    const Set least = lines_.rows.size() > kFreeLines ? lines_.rows.back() : 0;
    for (const Set set : row_sets_) {
      if (set < least || (lines_.rows.size() < kFreeLines && !canonical(set))) {
        continue;
      }
      lines_.rows.push_back(set);
      if (servable() && extend()) {
        return true;
      }
      lines_.rows.pop_back();
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

  /// Minipods of equal capacity that occur in the same rows so far are interchangeable: of those, a set must
  /// take the first ones.
  [[nodiscard]] bool canonical(Set set) const {
    for (std::size_t k = 1; k < minipods_; ++k) {
      if (instance_.capacities[k] != instance_.capacities[k - 1] || (set >> k & 1U) == 0 ||
          (set >> (k - 1) & 1U) != 0) {
        continue;
      }
      const auto same = [k](Set line) { return (line >> k & 1U) == (line >> (k - 1) & 1U); };
      if (std::all_of(lines_.rows.begin(), lines_.rows.end(), same)) {
        return false;
      }
    }
    return true;
  }

  /// Hall's condition of the rows so far, each with columns that take any minipod.
  [[nodiscard]] bool servable() {
    served_.assign(room_.size(), 0);
    for (const Set row : lines_.rows) {
      served_[row] += instance_.grid.columns;
    }
    sum_over_subsets(served_);
    steps_ -= static_cast<std::int64_t>(served_.size() * minipods_);
    return std::equal(served_.begin(), served_.end(), room_.begin(), std::less_equal<>());
  }

  const Instance& instance_;
  std::size_t minipods_;
  Spread pair_;
  std::int64_t& steps_;
  std::vector<std::int64_t> room_;    ///< capacity of each set
  std::vector<std::int32_t> served_;  ///< cells that only this set's subsets can serve
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
  // The shorter side's sets are chosen first: there are fewer of them, and then the other side's are a
  // packing.
  const bool flip = instance.grid.rows > instance.grid.columns;
  const Instance turned{flip ? transposed(instance.grid) : instance.grid, instance.capacities};
  SetSearch search(turned, flip ? transposed(pair) : pair, steps);
  if (search.extend()) {
    Cells cells = Assignment(turned, search.lines()).run();
    return {Verdict::kFound, flip ? transposed(turned.grid, cells) : std::move(cells)};
  }
  return {steps < 0 ? Verdict::kUndecided : Verdict::kImpossible, {}};
}

}  // namespace rudder::place
