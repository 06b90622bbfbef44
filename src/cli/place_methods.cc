// SPDX-License-Identifier: Apache-2.0
#include "cli/place_methods.h"

#include "rudder/place/baselines.h"

namespace rudder::cli {
namespace {

using Capacities = std::span<const std::int32_t>;

Result<place::Cells> better_arnold(Capacities capacities, place::Grid grid, double alpha) {
  RUDDER_ASSIGN(place::Cells pipelines, place::arnold(capacities, grid, place::Unit::kPipeline, alpha));
  RUDDER_ASSIGN(place::Cells columns, place::arnold(capacities, grid, place::Unit::kDataParallel, alpha));
  const auto cost = [&](const place::Cells& cells) {
    return place::objective(place::spread_of(grid, cells), alpha, place::Metric::kCount);
  };
  return cost(columns) < cost(pipelines) ? std::move(columns) : std::move(pipelines);
}

}  // namespace

const std::vector<std::string>& place_method_names() {
  static const std::vector<std::string> names = {"rudder",     "best-fit",   "packing",
                                                 "random-fit", "topo-aware", "arnold"};
  return names;
}

place::CellMaker place_method(const std::string& name, place::RankOrder order, double alpha,
                              std::uint32_t seed) {
  const place::FillOrder fill =
      order == place::RankOrder::kRowMajor ? place::FillOrder::kRowMajor : place::FillOrder::kColumnMajor;
  if (name == "best-fit") {
    return [fill](Capacities c, place::Grid grid) { return place::best_fit(c, grid, fill); };
  }
  if (name == "packing") {
    return [fill](Capacities c, place::Grid grid) { return place::packing(c, grid, fill); };
  }
  if (name == "random-fit") {
    return [seed](Capacities c, place::Grid grid) { return place::random_fit(c, grid, seed); };
  }
  if (name == "topo-aware") {
    return [alpha, seed](Capacities c, place::Grid grid) {
      return place::topo_aware(c, grid, {.dp = alpha, .pp = 1 - alpha}, seed);
    };
  }
  if (name == "arnold") {
    return [alpha](Capacities c, place::Grid grid) { return better_arnold(c, grid, alpha); };
  }
  return {};
}

}  // namespace rudder::cli
