// SPDX-License-Identifier: Apache-2.0
#include "place/strips.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"

#include "place/strip_plan.h"

namespace rudder::place {
namespace {

constexpr std::size_t kMaxMinipods = 256;
constexpr std::int64_t kMaxCells = 1 << 16;
constexpr std::int64_t kTrialShare = 4;  ///< of all moves, for ranking the shapes
constexpr std::size_t kFinalists = 4;

/// One annealing run: minipods move between layers and columns between strips.
class Annealing {
 public:
  Annealing(const Instance& instance, StripShape shape)
      : plan_(instance, shape),
        rng_({static_cast<std::uint64_t>(shape.strips), static_cast<std::uint64_t>(shape.layers)}) {
    plan_.spread_evenly(rng_);
  }

  [[nodiscard]] std::int64_t best() const { return best_; }

  /// True when a plan of no cost was found whose cells are within the pair.
  bool run(std::int64_t moves, std::int64_t& left, Cells& cells) {
    const auto area = static_cast<double>(plan_.instance().grid.cells());
    const double hot = std::max(1.0, area / 40);
    const double cold = std::max(0.2, area / 4000);
    const double cooling = std::pow(cold / hot, 1.0 / static_cast<double>(std::max<std::int64_t>(1, moves)));
    double temperature = hot;
    for (std::int64_t move = 0; move < moves; ++move, temperature *= cooling) {
      --left;
      const std::int64_t before = plan_.cost();
      propose();
      const std::int64_t after = plan_.cost();
      if (after > before && rng_.unit() >= std::exp(static_cast<double>(before - after) / temperature)) {
        plan_.undo();
        continue;
      }
      best_ = std::min(best_, after);
      if (after == 0) {
        cells = plan_.cells();
        if (within(spread_of(plan_.instance().grid, cells), plan_.shape().pair)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  void propose() {
    const auto minipods = static_cast<std::uint64_t>(plan_.instance().capacities.size());
    const std::uint64_t kind = rng_.below(8);
    if (kind == 0 && plan_.shape().strips > 1) {
      plan_.shift_border(rng_);
    } else if (kind <= 4) {
      plan_.move(rng_.below(minipods), rng_);
    } else {
      plan_.swap(rng_.below(minipods), rng_.below(minipods));
    }
  }

  StripPlan plan_;
  CounterRng rng_;
  std::int64_t best_ = INT64_MAX;
};

/// Shapes worth trying: with fewer layers than Q, minipods of a layer may share columns.
std::vector<StripShape> shapes(const Instance& instance, Spread pair) {
  std::vector<StripShape> result;
  for (std::int32_t strips = 1; strips <= std::min(pair.S, instance.grid.columns); ++strips) {
    for (std::int32_t layers = pair.Q; layers >= std::max(1, pair.Q - 2); --layers) {
      if (std::int64_t{strips} * layers <= static_cast<std::int64_t>(instance.capacities.size())) {
        result.push_back({.pair = pair, .strips = strips, .layers = layers});
      }
    }
  }
  return result;
}

}  // namespace

std::optional<Cells> find_strips(const Instance& instance, Spread pair, std::int64_t& moves) {
  const std::vector<StripShape> candidates = shapes(instance, pair);
  if (instance.capacities.size() > kMaxMinipods || instance.grid.cells() > kMaxCells || candidates.empty()) {
    return std::nullopt;
  }
  Cells cells;
  std::vector<Annealing> runs;
  const std::int64_t trial = moves / kTrialShare / static_cast<std::int64_t>(candidates.size());
  for (const StripShape& shape : candidates) {
    if (runs.emplace_back(instance, shape).run(trial, moves, cells)) {
      return cells;
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Annealing& a, const Annealing& b) { return a.best() < b.best(); });
  const std::size_t finalists = std::min(kFinalists, runs.size());
  for (std::size_t i = 0; i < finalists; ++i) {
    if (runs[i].run(moves / static_cast<std::int64_t>(finalists - i), moves, cells)) {
      return cells;
    }
  }
  return std::nullopt;
}

}  // namespace rudder::place
