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

Result<std::unique_ptr<HostPlanner>> HostPlanner::create(const graph::PartitionedGraph& graph,
                                                         std::span<const PartId> parts, const RunShape& run,
                                                         const BufferOptions& options,
                                                         std::uint32_t horizon) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const policy, live_policy(options));
  const graph::PartitionBook& book = graph.book();
  RUDDER_ASSIGN(
      const graph::PartitionBook host,
      graph::PartitionBook::create({0, book.begin(parts.front()), book.end(parts.back()), book.nodes()}));
  std::unique_ptr<HostPlanner> made(new HostPlanner);
  made->halo_ = graph::halo_of(graph.topology(), host, 1);
  if (policy->needs_vip) {
    made->vip_ = host_vip(graph, parts, run);
  }
  cache::PolicyContext context;
  context.capacity = options.slots;
  context.steps = run.steps;
  context.steps_per_epoch = run.steps_per_epoch;
  context.owned_begin = host.begin(1);
  context.owned_end = host.end(1);
  context.seed = cache::policy_seed(run.seed, context.owned_begin);
  context.halo = made->halo_;
  context.indptr = graph.topology().indptr;
  context.vip = made->vip_;
  made->planner_ =
      std::make_unique<cache::Planner>(policy->make(context, options.settings), options.slots, horizon);
  return made;
}

}  // namespace rudder::dataplane
