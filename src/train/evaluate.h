// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"

#include "train/collective.h"
#include "train/learner.h"
#include "train/structure_access.h"

namespace rudder::train {

/// Shares of nodes whose largest output is at their label, over all ranks; 0 when no node has a label. In
/// multi-label graphs micro-F1: 2 tp / (2 tp + fp + fn) over all nodes and classes, a class being predicted
/// where its output is positive; 0 when there is nothing to find and nothing was found.
struct Accuracy {
  double val = 0;
  double test = 0;
  bool val_judged = false;  ///< whether there was a label to judge `val` by
};

struct EvaluationOptions {
  /// Inputs of one chunk, in floats: bounds the memory beside the layers' results of the owned nodes.
  std::size_t chunk_floats = std::size_t{1} << 24;
};

/// Full-neighbour inference layer by layer: each rank computes its own nodes, pulling remote inputs of a
/// layer from their owners, which publish them as the plane's table of the layer's number (0: the features).
/// All ranks call it together, with table 0 published. Does not depend on the number of ranks but for float
/// rounding.
[[nodiscard]] Result<Accuracy> evaluate(const graph::PartitionedGraph& graph, const graph::Part& part,
                                        dataplane::Plane& plane, Collective& collective, Learner& learner,
                                        const StructureAccess& structure,
                                        const EvaluationOptions& options = {});

}  // namespace rudder::train
