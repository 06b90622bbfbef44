// SPDX-License-Identifier: Apache-2.0
// What an existing placement costs, what the best would, and why it costs more.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/plan.h"

namespace rudder::place {

struct CheckOptions {
  std::int32_t level = 1;    ///< minipods' distance from the root
  std::int32_t segment = 0;  ///< nodes that a cluster manager was asked to keep together; 0: none
  SolveLimits limits;
};

/// A row or column and the minipods that it touches.
struct LineSpread {
  std::int32_t index = 0;
  std::vector<std::pair<std::string, std::int32_t>> minipods;  ///< name and number of nodes, most nodes first
};

struct PlanCheck {
  Plan plan;  ///< with minipods, leaves, S, Q and J as the topology says
  Spread best;
  double best_J = 0;
  double J_lb = 0;
  std::vector<LineSpread> rows;       ///< those that touch more minipods than `best` allows, widest first
  std::vector<LineSpread> columns;    ///< the same of columns
  std::vector<std::string> why;       ///< one line each, for people
  std::vector<std::string> warnings;  ///< traps of rank order and hosts that are not fit
};

/// Checks a valid plan against a topology. The best is solved for the hosts that are free or in the plan.
/// Also warns when
/// - the plan's figures are not what the topology gives, or a host of it is down;
/// - a segment of consecutive ranks keeps the other family of groups together than people expect;
/// - consumers that sort hosts by name (c10d rendezvous as text, Slurm's node table in natural order) would
/// get
///   a larger J than the plan's.
/// Errors: kNotFound for hosts that the topology lacks; those of solve_frontier.
[[nodiscard]] Result<PlanCheck> check_against(const Plan& plan, const Topology& topology,
                                              const CheckOptions& options);

/// The check as text for a terminal.
[[nodiscard]] std::string describe(const PlanCheck& check);

}  // namespace rudder::place
