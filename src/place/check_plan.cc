// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "rudder/core/ids.h"
#include "rudder/place/plan_check.h"

#include "place/topology_builder.h"

namespace rudder::place {
namespace {

constexpr double kRounding = 1e-9;

double cost(double alpha, Spread spread) {
  return alpha * spread.Q + (1 - alpha) * spread.S;
}

/// Rows (or columns) with more than `allowed` minipods, widest first.
std::vector<LineSpread> wide_lines(const Plan& plan, std::int32_t PlannedNode::*line, std::int32_t count,
                                   std::int32_t allowed) {
  std::vector<std::map<std::string, std::int32_t>> touched(static_cast<std::size_t>(count));
  for (const PlannedNode& node : plan.nodes) {
    ++touched[static_cast<std::size_t>(node.*line)][node.minipod];
  }
  std::vector<LineSpread> wide;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i].size() <= static_cast<std::size_t>(allowed)) {
      continue;
    }
    LineSpread spread{narrow<std::int32_t>(i), {touched[i].begin(), touched[i].end()}};
    std::stable_sort(spread.minipods.begin(), spread.minipods.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    wide.push_back(std::move(spread));
  }
  std::stable_sort(wide.begin(), wide.end(), [](const LineSpread& a, const LineSpread& b) {
    return a.minipods.size() > b.minipods.size();
  });
  return wide;
}

/// Usable nodes of each minipod: free ones and those that the plan has.
std::vector<std::int32_t> capacities(const Plan& plan, const Topology& topology, std::int32_t level) {
  NameMap<bool> planned;
  for (const PlannedNode& node : plan.nodes) {
    planned.emplace(node.host, true);
  }
  std::vector<std::int32_t> usable;
  for (const Minipod& pod : minipods(topology, level)) {
    const auto fit = [&](HostId id) {
      const Host& host = topology.hosts[static_cast<std::size_t>(id)];
      return host.state == HostState::kFree || planned.contains(host.name);
    };
    usable.push_back(narrow<std::int32_t>(std::count_if(pod.hosts.begin(), pod.hosts.end(), fit)));
  }
  return usable;
}

std::string line_text(std::string_view kind, const LineSpread& line) {
  std::string text = fmt::format("{} {} touches {} minipods:", kind, line.index, line.minipods.size());
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(kShown, line.minipods.size()); ++i) {
    text += fmt::format(" {} ({})", line.minipods[i].first, line.minipods[i].second);
  }
  return line.minipods.size() > kShown ? text + " ..." : text;
}

void explain_lines(std::string_view kind, const std::vector<LineSpread>& lines, std::int32_t count,
                   std::int32_t allowed, std::vector<std::string>& why) {
  if (lines.empty()) {
    return;
  }
  why.push_back(fmt::format("{} of {} {}s touch more than the {} that the best needs", lines.size(), count,
                            kind, allowed));
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(kShown, lines.size()); ++i) {
    why.push_back(line_text(kind, lines[i]));
  }
}

/// The spread when ranks are given to the plan's hosts in another order of nodes.
template <class Less>
Spread reordered(const Plan& plan, Less less) {
  std::vector<std::size_t> order(plan.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return less(plan.nodes[a].host, plan.nodes[b].host); });
  Plan other = plan;
  for (std::size_t i = 0; i < order.size(); ++i) {
    other.nodes[i].minipod = plan.nodes[order[i]].minipod;
  }
  return spread_of(*grid_of(plan.shape), cells_of(other));
}

void warn_sorted(const Plan& plan, std::vector<std::string>& warnings) {
  const auto warn = [&](std::string_view who, Spread spread) {
    if (const double J = cost(plan.alpha, spread); J > plan.J + kRounding) {
      warnings.push_back(
          fmt::format("{} would cost S {}, Q {}, J {:.4g} instead of J {:.4g}: hand over the explicit order",
                      who, spread.S, spread.Q, J, plan.J));
    }
  };
  warn("ranks by host name as text (torchrun's c10d rendezvous)",
       reordered(plan, [](const std::string& a, const std::string& b) { return a < b; }));
  warn("ranks in the node table's order (Slurm without a host file)", reordered(plan, natural_less));
}

void warn_segment(const Plan& plan, const Grid& grid, std::int32_t segment,
                  std::vector<std::string>& warnings) {
  if (segment == 0) {
    return;
  }
  const bool columns_run = plan.order == RankOrder::kColumnMajor;  // consecutive nodes are one column's
  const std::int32_t run = columns_run ? grid.rows : grid.columns;
  const std::int32_t other = columns_run ? grid.columns : grid.rows;
  const std::string_view kept = columns_run ? "data-parallel members of one stage" : "stages of one pipeline";
  const std::string_view wanted = columns_run ? "pipelines" : "data-parallel groups";
  if (run % segment != 0) {
    warnings.push_back(fmt::format(
        "segments of {} consecutive nodes do not divide the {} nodes of a {}: some hold parts of two",
        segment, run, columns_run ? "column" : "row"));
  } else if (segment > 1) {
    warnings.push_back(fmt::format("in {} order segments of {} keep {} together, not {}{}",
                                   name_of(plan.order), segment, kept, wanted,
                                   segment == other ? ", although the size looks like it" : ""));
  }
  if (plan.nodes.size() % static_cast<std::size_t>(segment) != 0) {
    warnings.push_back(fmt::format("{} nodes are no multiple of segments of {}", plan.nodes.size(), segment));
  }
}

void warn_hosts(const Plan& plan, const Topology& topology, std::vector<std::string>& warnings) {
  for (const PlannedNode& node : plan.nodes) {
    const auto at =
        std::lower_bound(topology.hosts.begin(), topology.hosts.end(), std::string_view(node.host),
                         [](const Host& h, std::string_view name) { return natural_less(h.name, name); });
    if (at->state == HostState::kDown) {
      warnings.push_back(fmt::format("host '{}' (rank {}) is down", node.host, node.rank0));
    }
  }
}

}  // namespace

Result<PlanCheck> check_against(const Plan& plan, const Topology& topology, const CheckOptions& options) {
  RUDDER_TRY(validate(plan));
  PlanCheck check;
  check.plan = plan;
  RUDDER_TRY(locate(check.plan, topology, options.level));
  const Plan& located = check.plan;
  RUDDER_ASSIGN(const Grid grid, grid_of(plan.shape));
  RUDDER_ASSIGN(const Frontier frontier,
                solve_frontier(capacities(plan, topology, options.level), grid, options.limits));
  check.best = frontier.best(plan.alpha).spread;
  check.best_J = cost(plan.alpha, check.best);
  check.J_lb = frontier.lower_bound(plan.alpha);
  if (located.J < check.best_J) {  // the search ended before it found what somebody else has
    check.best = located.spread;
    check.best_J = located.J;
  }
  check.plan.J_lb = check.J_lb;
  if (located.J > check.best_J + kRounding) {
    check.rows = wide_lines(located, &PlannedNode::row, grid.rows, check.best.S);
    check.columns = wide_lines(located, &PlannedNode::stage, grid.columns, check.best.Q);
    explain_lines("row", check.rows, grid.rows, check.best.S, check.why);
    explain_lines("column", check.columns, grid.columns, check.best.Q, check.why);
  }
  const bool stated = plan.spread.S != 0 || plan.spread.Q != 0;
  if (stated && (plan.spread.S != located.spread.S || plan.spread.Q != located.spread.Q ||
                 std::abs(plan.J - located.J) > kRounding)) {
    check.warnings.push_back(
        fmt::format("the plan says S {}, Q {}, J {:.4g}; on this topology it is S {}, Q {}, J {:.4g}",
                    plan.spread.S, plan.spread.Q, plan.J, located.spread.S, located.spread.Q, located.J));
  }
  warn_hosts(located, topology, check.warnings);
  warn_segment(located, grid, options.segment, check.warnings);
  warn_sorted(located, check.warnings);
  return check;
}

std::string describe(const PlanCheck& check) {
  const Plan& plan = check.plan;
  std::string text = fmt::format(
      "S {} (pipelines), Q {} (data-parallel groups), J {:.4g} at alpha {:.4g}\nbest known: S {}, Q {}, J "
      "{:.4g}; "
      "no placement is below J {:.4g}\n",
      plan.spread.S, plan.spread.Q, plan.J, plan.alpha, check.best.S, check.best.Q, check.best_J, check.J_lb);
  if (plan.J > check.best_J + kRounding) {
    text += fmt::format("costs {:.3g} % more than the best, because\n", (plan.J / check.best_J - 1) * 100);
  }
  for (const std::string& line : check.why) {
    text += "  " + line + "\n";
  }
  for (const std::string& warning : check.warnings) {
    text += "warning: " + warning + "\n";
  }
  return text;
}

}  // namespace rudder::place
