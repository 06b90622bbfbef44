// SPDX-License-Identifier: Apache-2.0
// What a plane works out before and beside moving rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/wire.h"
#include "rudder/graph/partition.h"

namespace rudder::dataplane {

[[nodiscard]] Status check_options(const graph::PartitionedGraph& graph, const PlaneOptions& options);
[[nodiscard]] Hello make_hello(const graph::PartitionedGraph& graph, const PlaneOptions& options);
/// In-edges of the rank's parts.
[[nodiscard]] graph::CscSlice own_slice(const graph::PartitionedGraph& graph, const PlaneOptions& options);
/// In-degrees without self-loops of the nodes of a slice. O(nodes log degree).
[[nodiscard]] std::vector<std::uint32_t> degrees_of(const graph::CscSlice& own);
/// Text from outside, with ? for all but printable ASCII.
[[nodiscard]] std::string printable(std::span<const std::byte> body);

}  // namespace rudder::dataplane
