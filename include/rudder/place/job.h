// SPDX-License-Identifier: Apache-2.0
// A job on a cluster: from its shape and the cluster's hosts to a host for each cell of its grid, and a new
// host for each that fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/check.h"
#include "rudder/place/placement.h"
#include "rudder/place/plan.h"
#include "rudder/place/topology.h"
#include "rudder/place/weights.h"

namespace rudder::place {

/// Minipod of each cell, row-major, for usable nodes of each minipod: another method than the solver.
using CellMaker = std::function<Result<Cells>(std::span<const std::int32_t> capacities, Grid grid)>;

struct PlaceOptions {
  std::string job = "job";
  double alpha = 0.5;  ///< weight of the data-parallel side, 0 to 1
  Metric metric = Metric::kCount;
  RankOrder order = RankOrder::kColumnMajor;
  std::int32_t minipod_level = -1;       ///< -1: default_minipod_level()
  std::int32_t spares_per_minipod = 0;   ///< usable hosts kept back in each minipod that the job uses
  std::vector<std::string> excluded;     ///< hosts not to use, whatever their state
  std::int32_t ep = 1;                   ///< expert-parallel members a group, consecutive in DP x CP
  bool experts_together = false;         ///< each expert group inside one minipod
  std::optional<PhysicalCost> physical;  ///< chooses by predicted seconds instead of alpha
  SolveLimits limits;
  CellMaker cells;  ///< used instead of the solver's cells when set; bounds are the solver's
};

/// Spread of groups that are no side of the grid: consecutive members of a column.
struct FamilySpread {
  std::string name;         ///< "cp", "ep"
  std::int32_t spread = 1;  ///< largest number of minipods of a group
  double mean = 1;
};

struct SpareHost {
  std::string minipod;
  std::string host;
};

struct PlacedJob {
  Plan plan;  ///< J and J_lb in the options' metric
  Frontier frontier;
  double gap = 0;  ///< J / J_lb - 1; 0 when both are 0
  bool optimal = false;
  CheckedCells checked;  ///< from the independent checker, in the options' metric
  std::vector<FamilySpread> families;
  std::vector<SpareHost> spares;
  std::optional<double> predicted_seconds;  ///< with `physical`
};

/// alpha Q + (1 - alpha) S in a metric.
[[nodiscard]] double objective(Spread spread, double alpha, Metric metric);

/// Usable are free hosts that are not excluded. Hosts of a minipod are taken leaf by leaf, fullest leaf
/// first, in natural order of names, in rank order of the cells. The result depends on the topology, not on
/// the order in which a file lists it. Errors: those of grid_of(); kInvalidArgument for an alpha outside 0 to
/// 1, negative spares, an expert group that does not fill whole rows of nodes; kNotFound for an excluded host
/// that the topology lacks; kResource when too few hosts are usable, with both numbers.
[[nodiscard]] Result<PlacedJob> place_job(const Topology& topology, const JobShape& shape,
                                          const PlaceOptions& options = {});

struct Replaced {
  std::int32_t row = 0;
  std::int32_t stage = 0;
  std::string failed;
  std::string host;
  std::string minipod;
  double delta_J = 0;
};

struct Replacement {
  Plan plan;
  std::vector<Replaced> hosts;       ///< in rank order
  std::vector<std::string> ignored;  ///< failed hosts that the plan does not use, as given
};

struct ReplaceOptions {
  std::int32_t minipod_level = -1;
  std::vector<std::string> spares{};    ///< usable even when busy (they run preemptible work); preferred
  std::vector<std::string> excluded{};  ///< not to be used
};

/// Moves each failed host's cell to an unused host: one of the same minipod, which leaves S and Q as they
/// are; else the one with the least rise of J; ties go to a minipod that occurs in the cell's row, then in
/// its column, then to a spare, to the same leaf, to the first name. All other cells stay. O(failed x hosts).
/// Failed hosts outside the plan are not used either. Errors: kNotFound when no failed host is in the plan,
/// or for a planned one that the topology lacks; kResource when no host is left.
[[nodiscard]] Result<Replacement> replace_hosts(const Topology& topology, const Plan& plan,
                                                std::span<const std::string> failed,
                                                const ReplaceOptions& options = {});

}  // namespace rudder::place
