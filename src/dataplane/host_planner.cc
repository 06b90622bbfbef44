// SPDX-License-Identifier: Apache-2.0
#include "dataplane/host_planner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/policy.h"
#include "rudder/graph/vip.h"

namespace rudder::dataplane {
namespace {

/// The chance that any of the host's trainers needs a node in a step.
std::vector<float> host_vip(const graph::PartitionedGraph& graph, std::span<const PartId> parts,
                            const RunShape& run) {
  std::vector<float> vip;
  for (const PartId part : parts) {
    auto own = graph::inclusion_probability(graph.topology(), graph.train(part), run.batch, run.fanout);
    if (vip.empty()) {
      vip = std::move(own);
      continue;
    }
    std::transform(vip.begin(), vip.end(), own.begin(), vip.begin(),
                   [](float a, float b) { return 1.0F - (1.0F - a) * (1.0F - b); });
  }
  return vip;
}

Result<const cache::PolicyInfo*> live_policy(const BufferOptions& options) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(options.policy));
  if (!info->live) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("policy '{}' needs the whole trace, so it can only be replayed", options.policy)};
  }
  return info;
}

}  // namespace

Result<bool> works_ahead(const BufferOptions& options) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, live_policy(options));
  return info->overlapped;
}

Result<bool> wants_halo_degrees(const BufferOptions& options) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, live_policy(options));
  if (info->needs_vip && !info->does_without_vip) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("policy '{}' goes by inclusion probabilities, which need the whole structure: it "
                    "works with --topology replicated only",
                    options.policy)};
  }
  return info->needs_degrees || info->does_without_vip;
}

Result<std::unique_ptr<HostPlanner>> HostPlanner::create(const graph::PartitionedGraph& graph,
                                                         std::span<const PartId> parts, const RunShape& run,
                                                         const BufferOptions& options,
                                                         std::uint32_t horizon) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const policy, live_policy(options));
  const graph::CscSlice own = graph.slice(parts.front(), parts.back());
  std::unique_ptr<HostPlanner> made(new HostPlanner);
  made->halo_ = graph::halo_of(own, graph.meta().nodes);
  made->halo_degrees_ = options.halo_degrees;
  cache::PolicyContext context;
  if (graph.has_topology()) {
    context.indptr = graph.topology().indptr;
    if (policy->needs_vip) {
      made->vip_ = host_vip(graph, parts, run);
    }
  } else {
    RUDDER_TRY(wants_halo_degrees(options));
  }
  context.capacity = options.slots;
  context.steps = run.steps;
  context.steps_per_epoch = run.steps_per_epoch;
  context.owned_begin = own.begin;
  context.owned_end = own.end();
  context.seed = cache::policy_seed(run.seed, context.owned_begin);
  context.halo = made->halo_;
  context.halo_degrees = made->halo_degrees_;
  context.vip = made->vip_;
  made->planner_ =
      std::make_unique<cache::Planner>(policy->make(context, options.settings), options.slots, horizon);
  return made;
}

}  // namespace rudder::dataplane
