// SPDX-License-Identifier: Apache-2.0
// Quality and time of placements, as tables: J relative to the proved bound, for weights alpha of the
// data-parallel side, beside what others do with the same capacities.
//
//   place_bench [INSTANCES=200] [FREE=0.4]
//
// Occupancy: each minipod of M nodes has between FREE x M and M free ones, uniformly, drawn from the
// instance's number; draws that are too small for the grid are drawn again. "built" is what constructions
// alone reach (aligned rows, bands, fills), "rudder" adds the search. Arnold is Eq. 4 with the better unit at
// each alpha; packing and best-fit are fed the better of row-major and column-major. Times are processor time
// of one core for the frontier, its bounds and the arranged cells of all its points.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"
#include "rudder/place/baselines.h"
#include "rudder/place/check.h"

#include "place/solver.h"
#include "thread_time.h"

namespace rudder::place {
namespace {

constexpr std::array kAlphas = {0.0, 0.1, 0.3, 0.5, 0.7, 1.0};
using Ratios = std::array<double, kAlphas.size()>;

struct Setting {
  std::string name;
  Grid grid;
  std::size_t minipods;
  std::int32_t nodes;  ///< of a minipod
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"(i)", {6, 2}, 3, 6},       {"(ii)", {12, 8}, 5, 88},         {"(iii)", {46, 8}, 11, 93},
      {"208 GPUs", {13, 2}, 6, 6}, {"9,600 GPUs", {150, 8}, 22, 93}, {"9,600 GPUs", {75, 16}, 22, 93}};
  return all;
}

std::vector<std::int32_t> occupancy(const Setting& setting, double free, std::uint64_t instance) {
  CounterRng rng({instance, 5});
  const auto least = static_cast<std::int32_t>(setting.nodes * free);
  std::vector<std::int32_t> capacities(setting.minipods);
  for (std::int64_t total = 0; total < setting.grid.cells();) {
    total = 0;
    for (std::int32_t& capacity : capacities) {
      capacity =
          least + static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(setting.nodes - least) + 1));
      total += capacity;
    }
  }
  return capacities;
}

struct Method {
  std::string name;
  Ratios sum{};
  Ratios open{};  ///< instances above the bound
};

/// Smallest J of some spreads at an alpha.
double best_of(std::span<const Spread> spreads, double alpha) {
  double best = 1e300;
  for (const Spread& spread : spreads) {
    best = std::min(best, alpha * spread.Q + (1 - alpha) * spread.S);
  }
  return best;
}

Spread checked(const Setting& setting, std::span<const std::int32_t> capacities, const Result<Cells>& cells) {
  const CheckedCells result =
      check_cells(setting.grid.rows, setting.grid.columns, cells.value(), capacities, 0.5).value();
  return {.S = result.S, .Q = result.Q};
}

class Table {
 public:
  explicit Table(const Setting& setting) : setting_(setting) {}

  void add(std::span<const std::int32_t> capacities) {
    const Canonical problem = canonical(capacities, setting_.grid).value();
    const double start = bench::thread_seconds();
    Portfolio solved = solve_instance(problem.instance, {});
    for (Witness& witness : solved.witnesses) {
      arrange(problem, 0.5, witness.cells);
    }
    const double seconds = bench::thread_seconds() - start;
    total_seconds_ += seconds;
    most_seconds_ = std::max(most_seconds_, seconds);
    ++instances_;
    Frontier frontier;
    frontier.bounds = solved.bounds;
    std::vector<Spread> reached;
    for (Witness& witness : solved.witnesses) {
      for (MinipodId& cell : witness.cells) {
        cell = problem.original[static_cast<std::size_t>(cell)];
      }
      reached.push_back(checked(setting_, capacities, witness.cells));
    }
    std::vector<Spread> built;
    for (const Witness& witness : constructed(problem.instance)) {
      built.push_back(witness.spread);
    }
    count(0, frontier, reached);
    count(1, frontier, built);
    add_baselines(capacities, frontier);
  }

  void print() const {
    for (const Method& method : methods_) {
      fmt::print("| {} | {}x{} | {} |", setting_.name, setting_.grid.rows, setting_.grid.columns,
                 method.name);
      for (std::size_t a = 0; a < kAlphas.size(); ++a) {
        fmt::print(" {:.3f} ({:.0f} %) |", method.sum[a] / instances_, 100 * method.open[a] / instances_);
      }
      if (&method == methods_.data()) {
        fmt::print(" {:.0f} / {:.0f} |\n", 1e3 * total_seconds_ / instances_, 1e3 * most_seconds_);
      } else {
        fmt::print(" |\n");
      }
    }
  }

 private:
  void count(std::size_t method, const Frontier& frontier, std::span<const Spread> spreads) {
    for (std::size_t a = 0; a < kAlphas.size(); ++a) {
      add_ratio(method, a, best_of(spreads, kAlphas[a]) / frontier.lower_bound(kAlphas[a]));
    }
  }

  void add_ratio(std::size_t method, std::size_t a, double ratio) {
    RUDDER_CHECK(ratio > 1 - 1e-9, "no placement is below the bound");
    methods_[method].sum[a] += ratio;
    methods_[method].open[a] += ratio > 1 + 1e-9 ? 1 : 0;
  }

  void add_baselines(std::span<const std::int32_t> capacities, const Frontier& frontier) {
    const Grid grid = setting_.grid;
    const auto spread = [&](const Result<Cells>& cells) { return checked(setting_, capacities, cells); };
    for (std::size_t a = 0; a < kAlphas.size(); ++a) {
      const Spread units[] = {spread(arnold(capacities, grid, Unit::kPipeline, kAlphas[a])),
                              spread(arnold(capacities, grid, Unit::kDataParallel, kAlphas[a]))};
      const double bound = frontier.lower_bound(kAlphas[a]);
      add_ratio(2, a, best_of(units, kAlphas[a]) / bound);
      add_ratio(3, a, best_of({units, 1}, kAlphas[a]) / bound);
    }
    const std::vector<Spread> packed = {spread(packing(capacities, grid, FillOrder::kRowMajor)),
                                        spread(packing(capacities, grid, FillOrder::kColumnMajor))};
    const std::vector<Spread> fitted = {spread(best_fit(capacities, grid, FillOrder::kRowMajor)),
                                        spread(best_fit(capacities, grid, FillOrder::kColumnMajor))};
    count(4, frontier, packed);
    count(5, frontier, fitted);
    count(6, frontier, std::vector{spread(topo_aware(capacities, grid, {.dp = 1, .pp = 1}))});
    count(7, frontier, std::vector{spread(random_fit(capacities, grid, 1))});
  }

  const Setting& setting_;
  std::vector<Method> methods_ = {{"rudder"},  {"built"},    {"Arnold, better unit"}, {"Arnold, PP unit"},
                                  {"packing"}, {"best-fit"}, {"topo-aware"},          {"random"}};
  double total_seconds_ = 0;
  double most_seconds_ = 0;
  double instances_ = 0;
};

void header(const std::string& title) {
  fmt::print("\n{}\n\n| setting | grid | method |", title);
  for (const double alpha : kAlphas) {
    fmt::print(" alpha {} |", alpha);
  }
  fmt::print(" ms mean / most |\n|---|---|---|---|---|---|---|---|---|---|\n");
}

void run(int instances, double free) {
  header("Even capacities: J / bound (share above the bound)");
  for (const Setting& setting : settings()) {
    Table table(setting);
    table.add(std::vector<std::int32_t>(setting.minipods, setting.nodes));
    table.print();
  }
  header(
      fmt::format("Random occupancy, {} instances each, {:.0f} to 100 % of each minipod free: mean J / bound "
                  "(share above the bound)",
                  instances, 100 * free));
  for (const Setting& setting : settings()) {
    Table table(setting);
    for (int i = 0; i < instances; ++i) {
      table.add(occupancy(setting, free, static_cast<std::uint64_t>(i)));
    }
    table.print();
  }
}

}  // namespace
}  // namespace rudder::place

int main(int count, char** arguments) {
  const int instances = count > 1 ? std::atoi(arguments[1]) : 200;
  const double free = count > 2 ? std::atof(arguments[2]) : 0.4;
  if (instances < 1 || !(free >= 0 && free <= 1)) {
    fmt::print(stderr, "place_bench [INSTANCES=200] [FREE=0.4]\n");
    return 2;
  }
  rudder::place::run(instances, free);
  return 0;
}
