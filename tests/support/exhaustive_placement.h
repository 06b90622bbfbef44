// SPDX-License-Identifier: Apache-2.0
// Exact frontier of small placement problems, cell by cell, with its own bookkeeping.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace rudder::test {

/// Grids filled row by row: a state before a row is what later rows can see, the capacity that is left and
/// the set of minipods of each column. States of one row are visited once. Columns are interchangeable while
/// a whole row is placed, so their sets are sorted; so are minipods of equal capacity left within no column.
class ExhaustivePlacement {
 public:
  ExhaustivePlacement(int rows, int columns, std::vector<int> capacities)
      : rows_(rows), columns_(columns), capacities_(std::move(capacities)) {}

  /// The longer side plays the rows: there are fewer columns to remember.
  [[nodiscard]] bool feasible(int S, int Q) {
    if (columns_ > rows_) {
      return ExhaustivePlacement(columns_, rows_, capacities_).feasible(Q, S);
    }
    S_ = S;
    Q_ = Q;
    seen_.assign(static_cast<std::size_t>(rows_) + 1, {});
    State start;
    start.left = capacities_;
    start.columns.assign(static_cast<std::size_t>(columns_), 0);
    return row(0, start);
  }

  [[nodiscard]] std::vector<std::pair<int, int>> frontier() {
    std::vector<std::pair<int, int>> pairs;
    const int most = static_cast<int>(capacities_.size());
    int below = std::min(rows_, most) + 1;
    for (int S = 1; S <= std::min(columns_, most); ++S) {
      int Q = below;
      while (Q > 1 && feasible(S, Q - 1)) {
        --Q;
      }
      if (Q < below) {
        pairs.emplace_back(S, Q);
        below = Q;
      }
    }
    return pairs;
  }

 private:
  struct State {
    std::vector<int> left;
    std::vector<unsigned> columns;
    bool operator<(const State& other) const {
      return std::tie(left, columns) < std::tie(other.left, other.columns);
    }
  };

  bool row(int r, State state) {
    if (r == rows_) {
      return true;
    }
    std::sort(state.columns.begin(), state.columns.end());
    for (int& left : state.left) {
      left = std::min(left, (rows_ - r) * columns_);
    }
    if (!seen_[static_cast<std::size_t>(r)].insert(state).second) {
      return false;
    }
    return fillable(r, state) && cell(r, 0, 0, state);
  }

  /// Can each column, by itself, still find its cells? All rows together, theirs?
  [[nodiscard]] bool fillable(int r, const State& state) const {
    const int rows = rows_ - r;
    int saturated_needs = 0;
    unsigned saturated = 0;
    for (const unsigned column : state.columns) {
      std::vector<int> fresh;
      int room = 0;
      for (std::size_t k = 0; k < state.left.size(); ++k) {
        const int useful = std::min(state.left[k], rows);
        if ((column >> k & 1U) != 0) {
          room += useful;
        } else {
          fresh.push_back(useful);
        }
      }
      std::sort(fresh.rbegin(), fresh.rend());
      const int more = Q_ - std::popcount(column);
      for (int i = 0; i < more && i < static_cast<int>(fresh.size()); ++i) {
        room += fresh[static_cast<std::size_t>(i)];
      }
      if (room < rows) {
        return false;
      }
      if (more == 0) {
        saturated_needs += rows;
        saturated |= column;
      }
    }
    int saturated_room = 0;
    for (std::size_t k = 0; k < state.left.size(); ++k) {
      saturated_room += (saturated >> k & 1U) != 0 ? state.left[k] : 0;
    }
    return saturated_room >= saturated_needs;
  }

  bool cell(int r, int c, unsigned used, State& state) {
    if (c == columns_) {
      return row(r + 1, state);
    }
    unsigned& column = state.columns[static_cast<std::size_t>(c)];
    for (std::size_t k = 0; k < state.left.size(); ++k) {
      const unsigned bit = 1U << k;
      if (state.left[k] == 0 || std::popcount(used | bit) > S_ || std::popcount(column | bit) > Q_) {
        continue;
      }
      const unsigned before = column;
      column |= bit;
      --state.left[k];
      const bool found = cell(r, c + 1, used | bit, state);
      column = before;
      ++state.left[k];
      if (found) {
        return true;
      }
    }
    return false;
  }

  int rows_;
  int columns_;
  std::vector<int> capacities_;
  int S_ = 0;
  int Q_ = 0;
  std::vector<std::set<State>> seen_;
};

}  // namespace rudder::test
