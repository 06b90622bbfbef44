// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "rudder/core/ids.h"

#include "place/topology_builder.h"

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxNodes = std::int64_t{1} << 24;

std::size_t cell_index(const Grid& grid, const PlannedNode& node) {
  return static_cast<std::size_t>(node.row) * static_cast<std::size_t>(grid.columns) +
         static_cast<std::size_t>(node.stage);
}

Error invalid(std::string message) {
  return {Errc::kInvalidData, std::move(message)};
}

}  // namespace

std::string_view name_of(RankOrder order) {
  return order == RankOrder::kColumnMajor ? "column-major" : "row-major";
}

Result<RankOrder> rank_order_from_name(std::string_view name) {
  for (const RankOrder order : {RankOrder::kColumnMajor, RankOrder::kRowMajor}) {
    if (name_of(order) == name) {
      return order;
    }
  }
  return Error{Errc::kInvalidArgument,
               fmt::format("rank order '{}': column-major or row-major", name.substr(0, 80))};
}

Result<Grid> grid_of(const JobShape& shape) {
  const auto fail = [&](std::string_view what) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} (g {}, TP {}, PP {}, DP {}, CP {})", what, shape.gpus_per_node, shape.tp,
                             shape.pp, shape.dp, shape.cp)};
  };
  if (std::min({shape.gpus_per_node, shape.tp, shape.pp, shape.dp, shape.cp}) < 1) {
    return fail("all sizes of a job are at least 1");
  }
  if (shape.gpus_per_node % shape.tp != 0) {
    return fail("TP must divide the GPUs of a node");
  }
  const std::int64_t members = std::int64_t{shape.dp} * shape.cp;
  const std::int64_t in_node = shape.gpus_per_node / shape.tp;
  if (members % in_node != 0) {
    return fail(fmt::format("the {} data-parallel members of a node must divide DP x CP", in_node));
  }
  const std::int64_t rows = members / in_node;
  if (rows > kMaxNodes || rows * shape.pp > kMaxNodes) {
    return fail(fmt::format("more than {} nodes", kMaxNodes));
  }
  return Grid{static_cast<std::int32_t>(rows), shape.pp};
}

std::int64_t first_rank(const JobShape& shape, RankOrder order, std::int32_t row, std::int32_t stage) {
  const std::int64_t members = std::int64_t{shape.dp} * shape.cp;
  const std::int64_t member = std::int64_t{row} * (shape.gpus_per_node / shape.tp);
  return order == RankOrder::kColumnMajor ? shape.tp * (member + members * stage)
                                          : shape.tp * (stage + std::int64_t{shape.pp} * member);
}

Status validate(const Plan& plan) {
  RUDDER_ASSIGN(const Grid grid, grid_of(plan.shape));
  if (static_cast<std::int64_t>(plan.nodes.size()) != grid.cells()) {
    return invalid(fmt::format("the shape needs {} nodes, {} are listed", grid.cells(), plan.nodes.size()));
  }
  std::vector<bool> taken(plan.nodes.size());
  NameMap<std::size_t> hosts;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlannedNode& node = plan.nodes[i];
    if (node.row < 0 || node.row >= grid.rows || node.stage < 0 || node.stage >= grid.columns) {
      return invalid(fmt::format("nodes[{}]: row {}, stage {} is outside the grid of {} x {}", i, node.row,
                                 node.stage, grid.rows, grid.columns));
    }
    if (taken[cell_index(grid, node)]) {
      return invalid(fmt::format("nodes[{}]: row {}, stage {} is placed twice", i, node.row, node.stage));
    }
    taken[cell_index(grid, node)] = true;
    if (!is_host_name(node.host)) {
      return invalid(fmt::format("nodes[{}]: no host has the name '{}'", i, node.host.substr(0, 80)));
    }
    if (const auto [before, added] = hosts.emplace(node.host, i); !added) {
      return invalid(
          fmt::format("nodes[{}]: host '{}' is used by nodes[{}] already", i, node.host, before->second));
    }
    if (const std::int64_t rank = first_rank(plan.shape, plan.order, node.row, node.stage);
        node.rank0 != rank || rank <= last) {
      return invalid(
          fmt::format("nodes[{}]: rank0 is {}; {} order has rank {} at row {}, stage {}, ascending", i,
                      node.rank0, name_of(plan.order), rank, node.row, node.stage));
    }
    last = node.rank0;
  }
  return {};
}

bool ranks_are_consecutive(const Plan& plan) {
  return plan.order == RankOrder::kColumnMajor || plan.shape.tp == plan.shape.gpus_per_node ||
         plan.shape.pp == 1;
}

std::vector<std::int32_t> node_of_rank(const Plan& plan) {
  const std::int32_t g = plan.shape.gpus_per_node;
  std::vector<std::int32_t> nodes(plan.nodes.size() * static_cast<std::size_t>(g));
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    for (std::int32_t local = 0; local < g; ++local) {
      const std::int64_t run =
          plan.order == RankOrder::kColumnMajor
              ? std::int64_t{local}
              : std::int64_t{local / plan.shape.tp} * plan.shape.tp * plan.shape.pp + local % plan.shape.tp;
      nodes[static_cast<std::size_t>(plan.nodes[n].rank0 + run)] = narrow<std::int32_t>(n);
    }
  }
  return nodes;
}

Cells cells_of(const Plan& plan) {
  const Result<Grid> grid = grid_of(plan.shape);
  RUDDER_CHECK(grid.ok() && static_cast<std::size_t>(grid->cells()) == plan.nodes.size(), "a valid plan");
  NameMap<MinipodId> ids;
  Cells cells(plan.nodes.size());
  for (const PlannedNode& node : plan.nodes) {
    cells[cell_index(*grid, node)] = ids.emplace(node.minipod, narrow<MinipodId>(ids.size())).first->second;
  }
  return cells;
}

std::int32_t segment_size(const Plan& plan) {
  // A segment may not cross a border between minipods, so its size divides every border's position.
  std::size_t size = plan.nodes.size();
  for (std::size_t i = 1; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].minipod != plan.nodes[i - 1].minipod) {
      size = std::gcd(size, i);
    }
  }
  return narrow<std::int32_t>(size);
}

Result<Plan> plan_from_hosts(const JobShape& shape, RankOrder order, std::span<const std::string> hosts) {
  RUDDER_ASSIGN(const Grid grid, grid_of(shape));
  const auto nodes = static_cast<std::size_t>(grid.cells());
  const std::size_t ranks = nodes * static_cast<std::size_t>(shape.gpus_per_node);
  if (hosts.size() != nodes && hosts.size() != ranks) {
    return invalid(fmt::format("{} hosts; the shape has {} nodes and {} ranks", hosts.size(), nodes, ranks));
  }
  Plan plan;
  plan.shape = shape;
  plan.order = order;
  for (std::int32_t row = 0; row < grid.rows; ++row) {
    for (std::int32_t stage = 0; stage < grid.columns; ++stage) {
      plan.nodes.push_back({first_rank(shape, order, row, stage), row, stage, {}, {}, {}});
    }
  }
  std::sort(plan.nodes.begin(), plan.nodes.end(),
            [](const PlannedNode& a, const PlannedNode& b) { return a.rank0 < b.rank0; });
  const bool one_a_rank = hosts.size() == ranks;
  for (std::size_t n = 0; n < nodes; ++n) {
    plan.nodes[n].host = hosts[one_a_rank ? static_cast<std::size_t>(plan.nodes[n].rank0) : n];
  }
  if (one_a_rank) {
    const std::vector<std::int32_t> owner = node_of_rank(plan);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const PlannedNode& node = plan.nodes[static_cast<std::size_t>(owner[rank])];
      if (node.host != hosts[rank]) {
        return invalid(
            fmt::format("rank {} is on '{}', but rank {} of the same node (row {}, stage {}) is on '{}'",
                        rank, hosts[rank], node.rank0, node.row, node.stage, node.host));
      }
    }
  }
  RUDDER_TRY(validate(plan));
  return plan;
}

Status locate(Plan& plan, const Topology& topology, std::int32_t level) {
  const std::vector<Minipod> pods = minipods(topology, level);
  std::vector<MinipodId> pod_of(topology.hosts.size());
  for (std::size_t k = 0; k < pods.size(); ++k) {
    for (const HostId host : pods[k].hosts) {
      pod_of[static_cast<std::size_t>(host)] = narrow<MinipodId>(k);
    }
  }
  for (PlannedNode& node : plan.nodes) {
    const auto at =
        std::lower_bound(topology.hosts.begin(), topology.hosts.end(), std::string_view(node.host),
                         [](const Host& h, std::string_view name) { return natural_less(h.name, name); });
    if (at == topology.hosts.end() || at->name != node.host) {
      return Error{Errc::kNotFound,
                   fmt::format("host '{}' (rank {}) is not in the topology", node.host, node.rank0)};
    }
    node.leaf = topology.switches[static_cast<std::size_t>(at->leaf)].name;
    node.minipod =
        pods[static_cast<std::size_t>(pod_of[static_cast<std::size_t>(at - topology.hosts.begin())])].name;
  }
  RUDDER_ASSIGN(const Grid grid, grid_of(plan.shape));
  plan.spread = spread_of(grid, cells_of(plan));
  plan.J = plan.alpha * plan.spread.Q + (1 - plan.alpha) * plan.spread.S;
  return {};
}

}  // namespace rudder::place
