// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

/// Vertex inclusion probability (SALIENT++, MLSys 2023): the chance that a batch of `batch` seeds drawn from
/// `train` needs node v at any hop. p_0 = batch/|train| on training nodes (at most 1); p_h(v) = 1 - prod over
/// u that receive from v of (1 - min(1, fanout_h/deg(u)) p_{h-1}(u)); result 1 - prod over h of (1 - p_h(v)).
/// Fan-outs from the seeds outwards, -1 = all. O(hops x edges), single-threaded, so bit-identical everywhere.
/// Returns one value a node.
[[nodiscard]] std::vector<float> inclusion_probability(const CscView& topology, std::span<const NodeId> train,
                                                       std::size_t batch, std::span<const int> fanout);

}  // namespace rudder::graph
