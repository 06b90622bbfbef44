// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/job.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "rudder/core/check.h"

#include "place/solver.h"

namespace rudder::place {
namespace {

struct UsableMinipod {
  std::string name;
  std::vector<HostId> hosts;  ///< in the order in which cells take them
};

/// Fullest leaf first, then natural order: hosts have ids in natural order of names, leaves of switches.
void order_hosts(const Topology& topology, std::vector<HostId>& hosts) {
  std::map<SwitchId, std::int32_t> usable;
  const auto leaf = [&](HostId host) { return topology.hosts[static_cast<std::size_t>(host)].leaf; };
  for (const HostId host : hosts) {
    ++usable[leaf(host)];
  }
  std::sort(hosts.begin(), hosts.end(), [&](HostId a, HostId b) {
    return std::tuple(-usable.at(leaf(a)), leaf(a), a) < std::tuple(-usable.at(leaf(b)), leaf(b), b);
  });
}

Result<std::set<std::string>> known_hosts(const Topology& topology, std::span<const std::string> names) {
  std::set<std::string> wanted(names.begin(), names.end());
  std::set<std::string> missing = wanted;
  for (const Host& host : topology.hosts) {
    missing.erase(host.name);
  }
  if (!missing.empty()) {
    return Error{Errc::kNotFound, fmt::format("excluded host {} is not in the topology", *missing.begin())};
  }
  return wanted;
}

Result<std::vector<UsableMinipod>> usable_minipods(const Topology& topology, const PlaceOptions& options) {
  RUDDER_ASSIGN(const std::set<std::string> excluded, known_hosts(topology, options.excluded));
  const std::int32_t level =
      options.minipod_level < 0 ? default_minipod_level(topology) : options.minipod_level;
  std::vector<UsableMinipod> result;
  for (const Minipod& minipod : minipods(topology, level)) {
    UsableMinipod usable{minipod.name, {}};
    for (const HostId id : minipod.hosts) {
      const Host& host = topology.hosts[static_cast<std::size_t>(id)];
      if (host.state == HostState::kFree && excluded.count(host.name) == 0) {
        usable.hosts.push_back(id);
      }
    }
    order_hosts(topology, usable.hosts);
    result.push_back(std::move(usable));
  }
  return result;
}

/// Rows that an expert group fills, which then are placed as one; 1 when groups may be split.
Result<std::int32_t> rows_of_block(const JobShape& shape, Grid grid, const PlaceOptions& options) {
  if (options.ep < 1) {
    return Error{Errc::kInvalidArgument, fmt::format("expert groups of {} members", options.ep)};
  }
  const std::int32_t members = shape.gpus_per_node / shape.tp;
  if (!options.experts_together || options.ep <= members) {
    return 1;
  }
  const std::int32_t rows = options.ep / members;
  if (options.ep % members != 0 || grid.rows % rows != 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("expert groups of {} members do not fill whole nodes of {} members in {} rows",
                             options.ep, members, grid.rows)};
  }
  return rows;
}

Status check_options(const PlaceOptions& options) {
  if (!(options.alpha >= 0 && options.alpha <= 1)) {
    return Error{Errc::kInvalidArgument, fmt::format("alpha is {}; 0 to 1", options.alpha)};
  }
  if (options.spares_per_minipod < 0) {
    return Error{Errc::kInvalidArgument, fmt::format("{} spares a minipod", options.spares_per_minipod)};
  }
  return options.physical ? validate(*options.physical) : Status{};
}

/// What a pair is chosen by: predicted seconds, or J with ties to the side that weighs less.
std::pair<double, double> preference(Spread spread, const PlaceOptions& options) {
  // Rounded, so that values which are equal on paper tie.
  const double J = std::round(objective(spread, options.alpha, options.metric) * 1e9) / 1e9;
  if (options.physical) {
    return {predicted_seconds(*options.physical, spread), J};
  }
  return {J, options.alpha < 0.5 ? spread.Q : spread.S};
}

/// Repeats each row: a block of rows is placed as one.
Cells stacked(Grid blocks, std::int32_t rows, const Cells& cells) {
  Cells result;
  for (std::int32_t b = 0; b < blocks.rows; ++b) {
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(cell_at(blocks, b, 0));
    for (std::int32_t r = 0; r < rows; ++r) {
      result.insert(result.end(), first, first + blocks.columns);
    }
  }
  return result;
}

FamilySpread family(std::string name, Grid grid, const Cells& cells, std::int32_t members_per_node,
                    std::int32_t size) {
  FamilySpread result{std::move(name), 1, 0};
  const std::int64_t members = std::int64_t{grid.rows} * members_per_node;
  std::int64_t groups = 0;
  for (std::int32_t c = 0; c < grid.columns; ++c) {
    for (std::int64_t first = 0; first < members; first += size) {
      const std::int64_t last = std::min<std::int64_t>(first + size, members) - 1;
      std::set<MinipodId> met;
      for (std::int64_t row = first / members_per_node; row <= last / members_per_node; ++row) {
        met.insert(cells[cell_at(grid, static_cast<std::int32_t>(row), c)]);
      }
      const auto spread = static_cast<std::int32_t>(met.size());
      result.spread = std::max(result.spread, spread);
      result.mean += spread;
      ++groups;
    }
  }
  result.mean /= static_cast<double>(groups);
  return result;
}

void add_families(const JobShape& shape, const PlaceOptions& options, Grid grid, const Cells& cells,
                  PlacedJob& placed) {
  const std::int32_t members = shape.gpus_per_node / shape.tp;
  if (shape.cp > 1) {
    placed.families.push_back(family("cp", grid, cells, members, shape.cp));
  }
  if (options.ep > 1) {
    placed.families.push_back(family("ep", grid, cells, members, options.ep));
  }
}

/// Hosts of the cells in rank order, then the spares of each minipod in use.
void name_hosts(const Topology& topology, const std::vector<UsableMinipod>& usable, Grid grid,
                const Cells& cells, std::int32_t spares, PlacedJob& placed) {
  std::vector<std::size_t> taken(usable.size(), 0);
  const auto take = [&](std::int32_t row, std::int32_t stage) {
    const auto k = static_cast<std::size_t>(cells[cell_at(grid, row, stage)]);
    const Host& host = topology.hosts[static_cast<std::size_t>(usable[k].hosts[taken[k]++])];
    placed.plan.nodes.push_back(
        {first_rank(placed.plan.shape, placed.plan.order, row, stage), row, stage, host.name, usable[k].name,
         host.leaf == kNoSwitch ? std::string{}
                                : topology.switches[static_cast<std::size_t>(host.leaf)].name});
  };
  const bool column_major = placed.plan.order == RankOrder::kColumnMajor;
  const std::int32_t outer = column_major ? grid.columns : grid.rows;
  const std::int32_t inner = column_major ? grid.rows : grid.columns;
  for (std::int32_t i = 0; i < outer; ++i) {
    for (std::int32_t j = 0; j < inner; ++j) {
      column_major ? take(j, i) : take(i, j);
    }
  }
  std::sort(placed.plan.nodes.begin(), placed.plan.nodes.end(),
            [](const PlannedNode& a, const PlannedNode& b) { return a.rank0 < b.rank0; });
  for (std::size_t k = 0; k < usable.size(); ++k) {
    for (std::int32_t s = 0; taken[k] > 0 && s < spares; ++s) {
      const HostId host = usable[k].hosts[taken[k] + static_cast<std::size_t>(s)];
      placed.spares.push_back({usable[k].name, topology.hosts[static_cast<std::size_t>(host)].name});
    }
  }
}

std::vector<std::int32_t> job_capacities(const std::vector<UsableMinipod>& usable, std::int32_t spares) {
  std::vector<std::int32_t> capacities;
  for (const UsableMinipod& minipod : usable) {
    capacities.push_back(std::max(0, static_cast<std::int32_t>(minipod.hosts.size()) - spares));
  }
  return capacities;
}

void fill_costs(const PlaceOptions& options, Spread spread, Portfolio solved, PlacedJob& placed) {
  for (const Witness& witness : solved.witnesses) {
    placed.frontier.points.push_back({witness.spread, witness.method});
  }
  placed.frontier.bounds = std::move(solved.bounds);
  double least = std::numeric_limits<double>::infinity();
  for (const Spread& bound : placed.frontier.bounds) {
    least = std::min(least, objective(bound, options.alpha, options.metric));
  }
  Plan& plan = placed.plan;
  plan.spread = spread;
  plan.J = placed.checked.J;
  plan.J_lb = least;
  if (options.physical) {
    placed.predicted_seconds = predicted_seconds(*options.physical, plan.spread);
  }
  placed.optimal = plan.J <= plan.J_lb + 1e-9;
  placed.gap =
      plan.J_lb > 0 ? plan.J / plan.J_lb - 1 : (placed.optimal ? 0 : std::numeric_limits<double>::infinity());
}

/// Cells of the pair that the options prefer, or of another method; in the caller's numbers of minipods.
Result<Cells> choose_cells(const std::vector<std::int32_t>& capacities, const Canonical& problem,
                           const PlaceOptions& options, Portfolio& solved) {
  if (options.cells) {
    return options.cells(capacities, problem.instance.grid);
  }
  const auto chosen = std::min_element(solved.witnesses.begin(), solved.witnesses.end(),
                                       [&](const Witness& a, const Witness& b) {
                                         return preference(a.spread, options) < preference(b.spread, options);
                                       });
  arrange(problem, options.alpha, chosen->cells);
  Cells cells = std::move(chosen->cells);
  for (MinipodId& cell : cells) {
    cell = problem.original[static_cast<std::size_t>(cell)];
  }
  return cells;
}

}  // namespace

double objective(Spread spread, double alpha, Metric metric) {
  const auto value = [metric](std::int32_t s) { return metric == Metric::kRing && s == 1 ? 0 : s; };
  return alpha * value(spread.Q) + (1 - alpha) * value(spread.S);
}

Result<PlacedJob> place_job(const Topology& topology, const JobShape& shape, const PlaceOptions& options) {
  RUDDER_TRY(check_options(options));
  RUDDER_ASSIGN(const Grid grid, grid_of(shape));
  RUDDER_ASSIGN(const std::int32_t block, rows_of_block(shape, grid, options));
  RUDDER_ASSIGN(const std::vector<UsableMinipod> usable, usable_minipods(topology, options));
  const std::vector<std::int32_t> capacities = job_capacities(usable, options.spares_per_minipod);
  std::vector<std::int32_t> blocks = capacities;
  for (std::int32_t& capacity : blocks) {
    capacity /= block;
  }
  Result<Canonical> problem = canonical(blocks, {.rows = grid.rows / block, .columns = grid.columns});
  if (!problem.ok()) {
    return block > 1 ? problem.error().in(fmt::format("in blocks of {} nodes an expert group", block))
                     : problem.error();
  }
  Portfolio solved = solve_instance(problem->instance, options.limits);
  RUDDER_ASSIGN(const Cells in_blocks, choose_cells(blocks, *problem, options, solved));
  const Cells cells = stacked(problem->instance.grid, block, in_blocks);
  PlacedJob placed;
  RUDDER_ASSIGN(placed.checked,
                check_cells(grid.rows, grid.columns, cells, capacities, options.alpha, options.metric));
  placed.plan.job = options.job;
  placed.plan.shape = shape;
  placed.plan.order = options.order;
  placed.plan.alpha = options.alpha;
  fill_costs(options, spread_of(grid, cells), std::move(solved), placed);
  name_hosts(topology, usable, grid, cells, options.spares_per_minipod, placed);
  add_families(shape, options, grid, cells, placed);
  return placed;
}

}  // namespace rudder::place
