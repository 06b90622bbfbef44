// SPDX-License-Identifier: Apache-2.0
// Pictures of topologies and placements. Text is UTF-8; SVG and HTML are self-contained and escape all names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rudder/place/plan.h"
#include "rudder/place/topology.h"

namespace rudder::place {

/// A line a switch below its parent's, hosts as host lists with the number in each state. At most `lines`
/// lines; the last says how many switches are not shown. No recursion, O(hosts + switches).
[[nodiscard]] std::string topology_text(const Topology& topology, std::size_t lines = 2000);

/// The tree from left to right, hosts as squares coloured by state. More than 2,000 leaves or 100,000 hosts
/// are not drawn: such a topology's switches of the deepest level that fits are, with numbers of hosts.
[[nodiscard]] std::string topology_svg(const Topology& topology);

/// Rows x columns coloured by minipod as an HTML page, with the minipods that each row and column touches.
/// Grids of more than 2^18 cells are not drawn cell by cell: kUnsupported.
[[nodiscard]] Result<std::string> heat_map_html(const Plan& plan);

}  // namespace rudder::place
