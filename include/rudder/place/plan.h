// SPDX-License-Identifier: Apache-2.0
// A placement as it is written down: which host runs which ranks, in explicit rank order. Every hand-over
// format is derived from it.
//
// A job of DP x CP data-parallel members, PP stages and TP ranks a member runs on nodes of g GPUs. TP divides
// g, g/TP divides DP x CP, so a node holds g/TP members of one stage: it is a cell of a grid of R = DP CP TP
// / g rows and C = PP columns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/placement.h"

namespace rudder::place {

/// How the launcher numbers ranks. The order is part of a placement, never implied.
enum class RankOrder : std::uint8_t {
  kColumnMajor,  ///< stage by stage: Megatron's default tp-cp-ep-dp-pp; consecutive nodes are one DP column
  kRowMajor,     ///< pipeline by pipeline: tp-pp-dp
};

/// "column-major", "row-major".
[[nodiscard]] std::string_view name_of(RankOrder order);
[[nodiscard]] Result<RankOrder> rank_order_from_name(std::string_view name);

struct PlannedNode {
  std::int64_t rank0 = 0;  ///< the node's lowest rank
  std::int32_t row = 0;    ///< pipeline
  std::int32_t stage = 0;
  std::string host;
  std::string minipod;
  std::string leaf;
};

struct JobShape {
  std::int32_t gpus_per_node = 8;  ///< g
  std::int32_t tp = 8;
  std::int32_t pp = 1;
  std::int32_t dp = 1;
  std::int32_t cp = 1;  ///< context-parallel ranks, part of the data-parallel side of the grid
};

/// The grid of a shape. Errors (kInvalidArgument): a size below 1, TP that does not divide g or g/TP that
/// does not divide DP x CP (a node would hold parts of two stages), more than 2^24 nodes.
[[nodiscard]] Result<Grid> grid_of(const JobShape& shape);
/// The lowest rank of a cell. For kColumnMajor a node's ranks are consecutive. For kRowMajor they are runs of
/// TP ranks, TP x PP apart.
[[nodiscard]] std::int64_t first_rank(const JobShape& shape, RankOrder order, std::int32_t row,
                                      std::int32_t stage);

struct Plan {
  std::string job = "job";
  JobShape shape;
  RankOrder order = RankOrder::kColumnMajor;
  double alpha = 0.5;
  Spread spread;
  double J = 0;
  double J_lb = 0;
  std::vector<PlannedNode> nodes;  ///< ascending rank0
};

/// Checks that the nodes are a bijection of the grid's cells to distinct hosts with the ranks that the order
/// gives, ascending. Says the first offending node.
[[nodiscard]] Status validate(const Plan& plan);

/// Position in `nodes` of each rank's node. For a valid plan. O(ranks).
[[nodiscard]] std::vector<std::int32_t> node_of_rank(const Plan& plan);
/// Whether each node's ranks are consecutive: what launchers that number nodes (torchrun, Kubernetes) can do.
[[nodiscard]] bool ranks_are_consecutive(const Plan& plan);
/// Minipod index of each cell, row-major, by order of first mention. For a valid plan.
[[nodiscard]] Cells cells_of(const Plan& plan);
/// The largest k that divides the number of nodes and for which nodes nk..nk+k-1 in rank order share a
/// minipod.
[[nodiscard]] std::int32_t segment_size(const Plan& plan);

/// The canonical file:
/// {"job","g","tp","pp","dp"[,"cp"],"order","alpha","S","Q","J","J_lb","nodes":[{"rank0","row",
/// "stage","host","minipod","leaf"}]}, one node a line.
[[nodiscard]] std::string to_json(const Plan& plan);
/// Reads it back and validates it. `where` stands in errors for the file. "minipod" may be a number.
[[nodiscard]] Result<Plan> parse_plan(const std::string& where, std::string_view text);
[[nodiscard]] Result<Plan> read_plan(const std::filesystem::path& path);

/// A plan from the host of each rank (Slurm host files, rankfiles) or, when there are as many hosts as nodes,
/// of each node in rank order. Minipods, leaves and spread stay empty: see locate(). Errors name the rank.
[[nodiscard]] Result<Plan> plan_from_hosts(const JobShape& shape, RankOrder order,
                                           std::span<const std::string> hosts);
/// Fills minipods, leaves, spread and J from a topology. A host that it lacks is kNotFound.
[[nodiscard]] Status locate(Plan& plan, const Topology& topology, std::int32_t level);

/// Hosts of a Slurm host file: one a line, in rank order; blank lines and "#" comments are skipped.
[[nodiscard]] Result<std::vector<std::string>> parse_host_file(const std::string& where,
                                                               std::string_view text);
/// Hosts by rank of an Open MPI rankfile: lines "rank N=HOST slot=...". Every rank from 0 on exactly once.
[[nodiscard]] Result<std::vector<std::string>> parse_rankfile(const std::string& where,
                                                              std::string_view text);

}  // namespace rudder::place
