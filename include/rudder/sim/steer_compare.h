// SPDX-License-Identifier: Apache-2.0
// Fixed periods, deciders and bounds side by side on recorded accesses of several graphs. Rows and hits are
// counted by the planner that runs live; time is the cost model's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/buffer_size.h"
#include "rudder/core/result.h"
#include "rudder/sim/deciding.h"
#include "rudder/sim/estimate.h"
#include "rudder/sim/steer_eval.h"
#include "rudder/sim/trace_scenario.h"
#include "rudder/steer/decider.h"

namespace rudder::sim {

/// A graph's accesses: one trace a seed, all of the same partition.
struct TracedGraph {
  std::string name;
  std::vector<std::filesystem::path> traces;
};

struct CompareOptions {
  /// none: no buffer, nothing fetched ahead. fixed:P: the score policy with period P: it replaces with
  /// every P-th batch, whatever the window. oracle: the cheapest of run_foresight(), of each action
  /// for ever and of the periods beside it. Anything else: a decider, which decides once a window behind the
  /// guard of `steer`.
  std::vector<std::string> methods;
  std::vector<cache::BufferSize> buffers;
  TraceWorld world;
  SteerOptions steer;
  /// But actions, seed, memory and classifier, which are the run's own. Deciders that remember start with
  /// windows of the other graphs alone, and classifiers have learned from those: what they score is what they
  /// know of a graph that they have never seen.
  steer::DeciderContext context;
  std::filesystem::path folder;  ///< for classifiers; exists
  std::uint64_t seed = 1;        ///< of classifiers
  std::size_t threads = 1;       ///< never changes a result but latencies
};

/// A method on a graph with a buffer. Means over seeds, with an interval where there are two; over all ranks
/// of a run rows are summed, and its time is that of the rank that takes longest.
struct CompareRow : Deciding {
  std::string graph, buffer, method;
  std::uint64_t seeds = 0;
  Estimate hits_percent;   ///< of the requested remote rows, all hops
  Estimate moved_rows;     ///< over the network in an epoch, the initial fill included
  Estimate epoch_seconds;  ///< simulated: mean time of a step times steps of an epoch
};

/// Rows by graph, then buffer, then method. `progress` (may be empty) hears the share done and of what, from
/// one thread at a time. kInvalidArgument: a method that there is not or that lacks something, a classifier
/// where there is no other graph to learn from.
[[nodiscard]] Result<std::vector<CompareRow>> compare(
    const std::vector<TracedGraph>& graphs, const CompareOptions& options,
    const std::function<void(double, std::string_view)>& progress);

}  // namespace rudder::sim
