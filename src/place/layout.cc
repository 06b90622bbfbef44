// SPDX-License-Identifier: Apache-2.0
#include "place/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxExchanges = 6'000'000;  ///< about 50 ms
constexpr std::int64_t kMaxPolished = 1 << 14;     ///< cells
constexpr std::int64_t kMaxCounts = 1 << 22;
constexpr std::int32_t kMaxPath = 512;
constexpr double kLeastWeight = 1e-3;  ///< of the side that alpha ignores: it still breaks ties

/// Cells of each minipod in each line.
class LineCounts {
 public:
  LineCounts(std::int32_t lines, std::size_t minipods)
      : minipods_(minipods),
        counts_(static_cast<std::size_t>(lines) * minipods, 0),
        met_(static_cast<std::size_t>(lines), 0) {}

  void add(std::size_t line, MinipodId k) { met_[line] += count(line, k)++ == 0 ? 1 : 0; }
  void remove(std::size_t line, MinipodId k) { met_[line] -= --count(line, k) == 0 ? 1 : 0; }

  [[nodiscard]] std::int32_t most() const { return *std::max_element(met_.begin(), met_.end()); }
  struct Change {
    std::int32_t met = 0;    ///< of minipods met, summed over the lines
    std::int32_t focus = 0;  ///< see focus()
  };
  /// What happens when line `a` gives a cell of `k` to line `b` for one of `l`; nothing when one line would
  /// meet more than `limit` minipods. A line does not change by an exchange with itself.
  [[nodiscard]] std::optional<Change> exchange(std::size_t a, std::size_t b, MinipodId k, MinipodId l,
                                               std::int32_t limit) const {
    if (a == b) {
      return Change{};
    }
    const std::int32_t at_a = change(a, k, l);
    const std::int32_t at_b = change(b, l, k);
    if (met_[a] + at_a > limit || met_[b] + at_b > limit) {
      return std::nullopt;
    }
    return Change{at_a + at_b, focus(a, k, l) + focus(b, l, k)};
  }

 private:
  /// Change of minipods met when the line gives up a cell of `out` for one of `in`.
  [[nodiscard]] std::int32_t change(std::size_t line, MinipodId out, MinipodId in) const {
    return (at(line, in) == 0 ? 1 : 0) - (at(line, out) == 1 ? 1 : 0);
  }
  /// Half the change of the sum of squares: positive when the line becomes more uniform.
  [[nodiscard]] std::int32_t focus(std::size_t line, MinipodId out, MinipodId in) const {
    return at(line, in) - at(line, out) + 1;
  }
  [[nodiscard]] std::int32_t at(std::size_t line, MinipodId k) const {
    return counts_[line * minipods_ + static_cast<std::size_t>(k)];
  }
  std::int32_t& count(std::size_t line, MinipodId k) {
    return counts_[line * minipods_ + static_cast<std::size_t>(k)];
  }

  std::size_t minipods_;
  std::vector<std::int32_t> counts_;
  std::vector<std::int32_t> met_;
};

class Polisher {
 public:
  Polisher(const Instance& instance, double alpha, Cells& cells)
      : grid_(instance.grid),
        cells_(cells),
        rows_(instance.grid.rows, instance.capacities.size()),
        columns_(instance.grid.columns, instance.capacities.size()),
        row_weight_(std::max(1 - alpha, kLeastWeight) / instance.grid.rows),
        column_weight_(std::max(alpha, kLeastWeight) / instance.grid.columns) {
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      rows_.add(row(cell), cells[cell]);
      columns_.add(column(cell), cells[cell]);
    }
    limit_ = {.S = rows_.most(), .Q = columns_.most()};
  }

  void run() {
    std::int64_t left = kMaxExchanges;
    bool improved = true;
    while (improved && left > 0) {
      improved = false;
      for (std::size_t a = 0; a < cells_.size(); ++a) {
        for (std::size_t b = a + 1; b < cells_.size() && left > 0; ++b) {
          if (cells_[a] != cells_[b]) {
            --left;
            improved = exchange(a, b) || improved;
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] std::size_t row(std::size_t cell) const {
    return cell / static_cast<std::size_t>(grid_.columns);
  }
  [[nodiscard]] std::size_t column(std::size_t cell) const {
    return cell % static_cast<std::size_t>(grid_.columns);
  }

  bool exchange(std::size_t a, std::size_t b) {
    const MinipodId k = cells_[a];
    const MinipodId l = cells_[b];
    const auto rows = rows_.exchange(row(a), row(b), k, l, limit_.S);
    const auto columns = rows ? columns_.exchange(column(a), column(b), k, l, limit_.Q) : std::nullopt;
    if (!columns) {
      return false;
    }
    const double change = row_weight_ * rows->met + column_weight_ * columns->met;
    if (change > -1e-12 && (change > 1e-12 || rows->focus + columns->focus <= 0)) {
      return false;
    }
    place(a, l);
    place(b, k);
    return true;
  }

  void place(std::size_t cell, MinipodId k) {
    rows_.remove(row(cell), cells_[cell]);
    columns_.remove(column(cell), cells_[cell]);
    rows_.add(row(cell), k);
    columns_.add(column(cell), k);
    cells_[cell] = k;
  }

  Grid grid_;
  Cells& cells_;
  LineCounts rows_;
  LineCounts columns_;
  double row_weight_;
  double column_weight_;
  Spread limit_;
};

using Line = std::vector<MinipodId>;

std::int32_t differences(const Line& a, const Line& b) {
  std::int32_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += a[i] != b[i] ? 1 : 0;
  }
  return count;
}

/// Order of sorted lines with few differences between neighbours.
std::vector<std::size_t> short_path(const std::vector<Line>& lines) {
  const std::size_t n = lines.size();
  std::vector<std::size_t> path(n);
  std::iota(path.begin(), path.end(), 0);
  if (n > static_cast<std::size_t>(kMaxPath) || n < 3) {
    return path;
  }
  std::vector<std::int32_t> table(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      table[a * n + b] = differences(lines[a], lines[b]);
    }
  }
  const auto apart = [&](std::size_t a, std::size_t b) { return table[path[a] * n + path[b]]; };
  for (std::size_t i = 1; i < n; ++i) {
    std::size_t nearest = i;
    for (std::size_t j = i + 1; j < n; ++j) {
      nearest = apart(i - 1, j) < apart(i - 1, nearest) ? j : nearest;
    }
    std::rotate(path.begin() + static_cast<std::ptrdiff_t>(i),
                path.begin() + static_cast<std::ptrdiff_t>(nearest),
                path.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }
  // 2-opt: each pass shortens the path, so it ends; passes are bounded by its length.
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        const std::int32_t before = (i > 0 ? apart(i - 1, i) : 0) + (j + 1 < n ? apart(j, j + 1) : 0);
        const std::int32_t after = (i > 0 ? apart(i - 1, j) : 0) + (j + 1 < n ? apart(i, j + 1) : 0);
        if (after < before) {
          std::reverse(path.begin() + static_cast<std::ptrdiff_t>(i),
                       path.begin() + static_cast<std::ptrdiff_t>(j) + 1);
          shorter = true;
        }
      }
    }
  }
  return path;
}

void order_rows(Grid grid, Cells& cells) {
  std::vector<Line> lines;
  for (std::int32_t r = 0; r < grid.rows; ++r) {
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(cell_at(grid, r, 0));
    lines.emplace_back(first, first + grid.columns);
  }
  std::sort(lines.begin(), lines.end());
  auto out = cells.begin();
  for (const std::size_t line : short_path(lines)) {
    out = std::copy(lines[line].begin(), lines[line].end(), out);
  }
}

}  // namespace

void polish(const Instance& instance, double alpha, Cells& cells) {
  const std::int64_t lines = std::int64_t{instance.grid.rows} + instance.grid.columns;
  if (instance.grid.cells() > kMaxPolished ||
      lines * static_cast<std::int64_t>(instance.capacities.size()) > kMaxCounts) {
    return;
  }
  Polisher(instance, alpha, cells).run();
}

void order_lines(Grid grid, Cells& cells) {
  Cells turned = transposed(grid, cells);
  order_rows(transposed(grid), turned);
  cells = transposed(transposed(grid), turned);
  order_rows(grid, cells);
}

void take_tightest(std::span<const std::int32_t> sizes, Cells& cells) {
  const std::size_t minipods = sizes.size();
  std::vector<std::int32_t> used(minipods, 0);
  std::vector<std::size_t> mentioned;
  for (const MinipodId k : cells) {
    if (used[static_cast<std::size_t>(k)]++ == 0) {
      mentioned.push_back(static_cast<std::size_t>(k));
    }
  }
  // Capacities descend, so the tightest fit of the smallest part is found from the back.
  std::vector<std::size_t> parts = mentioned;
  std::stable_sort(parts.begin(), parts.end(),
                   [&](std::size_t a, std::size_t b) { return used[a] < used[b]; });
  std::vector<std::int32_t> size_of(minipods, 0);
  std::map<std::int32_t, MinipodId> next_of_size;
  std::size_t next = minipods;
  for (const std::size_t part : parts) {
    do {
      --next;
    } while (sizes[next] < used[part]);
    size_of[part] = sizes[next];
  }
  for (std::size_t k = minipods; k-- > 0;) {
    next_of_size[sizes[k]] = static_cast<MinipodId>(k);
  }
  std::vector<MinipodId> renamed(minipods, -1);
  for (const std::size_t part : mentioned) {
    renamed[part] = next_of_size[size_of[part]]++;
  }
  for (MinipodId& cell : cells) {
    cell = renamed[static_cast<std::size_t>(cell)];
  }
}

}  // namespace rudder::place
