// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/policy.h"
#include "rudder/core/dtype.h"

#include "train/rank_run.h"

namespace rudder::train {
namespace {

Status check_evaluation(const TrainOptions& options, const graph::PartitionedGraph& graph) {
  const bool in_training = options.epochs_between_evaluations() > 0;
  if (in_training && !options.evaluate) {
    return Error{Errc::kInvalidArgument, "--patience and --evaluate-every do not go with --no-evaluation"};
  }
  if (in_training && graph.meta().val == 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: no validation nodes to judge epochs by", graph.directory().string())};
  }
  if (!(options.min_delta >= 0) || (options.min_delta > 0 && !in_training)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("--min-delta {}: must be positive, and needs --patience or --evaluate-every",
                             options.min_delta)};
  }
  return {};
}

}  // namespace

Status check_options(const TrainOptions& options, Rank world, const graph::PartitionedGraph& graph) {
  if (graph.book().parts() != world) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{0} has {1} parts, but the run has {2} ranks: they must be equal; "
                             "rudder launch -n {1} -- train starts one rank a part",
                             graph.directory().string(), graph.book().parts(), world)};
  }
  if (options.fanout.empty() || std::ranges::any_of(options.fanout, [](int f) { return f == 0 || f < -1; })) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("fan-out '{}': give one positive number a layer, or -1 for all neighbours",
                             fmt::join(options.fanout, ","))};
  }
  if (options.epochs == 0 || options.batch == 0 || options.threads == 0 || options.accumulate == 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("epochs, batch, threads and accumulate must be positive; got {}, {}, {} and {}",
                             options.epochs, options.batch, options.threads, options.accumulate)};
  }
  if (!(options.deadline_seconds > 0)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("deadline of {} s: must be positive", options.deadline_seconds)};
  }
  if (options.autocast != "none" && options.autocast != "bf16") {
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown autocast '{}'; there are none and bf16", options.autocast)};
  }
  RUDDER_TRY(check_evaluation(options, graph));
  if (options.features != "mapped" && options.features != "loaded") {
    return Error{Errc::kInvalidArgument,
                 fmt::format("features '{}'; there are mapped and loaded", options.features)};
  }
  const auto wire = dtype_from_name(options.wire);
  if (options.wire != "stored" && (!wire || !is_feature_type(*wire))) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown wire type '{}'; there are stored, f32, f16 and bf16", options.wire)};
  }
  RUDDER_TRY(cache::find_policy(options.policy));
  RUDDER_TRY(cache::parse_buffer_size(options.buffer));
  return {};
}

}  // namespace rudder::train
