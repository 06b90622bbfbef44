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

/// The policies that may come to hold: one, or with a steersman several.
Result<std::vector<const cache::PolicyInfo*>> live_policies(const BufferOptions& options) {
  std::vector<std::string> names = {options.policy};
  if (options.steersman != nullptr) {
    names = options.steersman->terms(options.slots, options.settings).policies;
  }
  std::vector<const cache::PolicyInfo*> policies;
  for (const std::string& name : names) {
    RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(name));
    if (!info->live) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("policy '{}' needs the whole trace, so it can only be replayed", name)};
    }
    policies.push_back(info);
  }
  return policies;
}

bool goes_by_vip(const cache::PolicyInfo* policy) {
  return policy->needs_vip;
}

/// What policies know, with the memory that they look at.
struct Knowledge {
  std::vector<NodeId> halo;
  std::vector<std::uint32_t> halo_degrees;
  std::vector<float> vip;
  cache::PolicyContext context;
};

Result<std::shared_ptr<const cache::PolicyContext>> know(const graph::PartitionedGraph& graph,
                                                         std::span<const PartId> parts, const RunShape& run,
                                                         const BufferOptions& options) {
  RUDDER_ASSIGN(const auto policies, live_policies(options));
  const graph::CscSlice own = graph.slice(parts.front(), parts.back());
  const auto known = std::make_shared<Knowledge>();
  known->halo = graph::halo_of(own, graph.meta().nodes);
  known->halo_degrees = options.halo_degrees;
  cache::PolicyContext& context = known->context;
  if (graph.has_topology()) {
    context.indptr = graph.topology().indptr;
    if (std::any_of(policies.begin(), policies.end(), goes_by_vip)) {
      known->vip = host_vip(graph, parts, run);
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
  context.halo = known->halo;
  context.halo_degrees = known->halo_degrees;
  context.vip = known->vip;
  return std::shared_ptr<const cache::PolicyContext>(known, &known->context);
}

}  // namespace

Result<bool> works_ahead(const BufferOptions& options) {
  RUDDER_ASSIGN(const auto policies, live_policies(options));
  return std::all_of(policies.begin(), policies.end(),
                     [](const cache::PolicyInfo* policy) { return policy->overlapped; });
}

Result<bool> wants_halo_degrees(const BufferOptions& options) {
  RUDDER_ASSIGN(const auto policies, live_policies(options));
  bool wanted = false;
  for (const cache::PolicyInfo* policy : policies) {
    if (policy->needs_vip && !policy->does_without_vip) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("policy '{}' goes by inclusion probabilities, which need the whole structure: "
                               "it works with --topology replicated only",
                               policy->name)};
    }
    wanted = wanted || policy->needs_degrees || policy->does_without_vip;
  }
  return wanted;
}

Result<std::unique_ptr<HostPlanner>> HostPlanner::create(const graph::PartitionedGraph& graph,
                                                         std::span<const PartId> parts, const RunShape& run,
                                                         const BufferOptions& options,
                                                         std::uint32_t horizon) {
  std::unique_ptr<HostPlanner> made(new HostPlanner);
  RUDDER_ASSIGN(made->context_, know(graph, parts, run, options));
  const cache::PolicyContext& context = *made->context_;
  if (options.steersman == nullptr) {
    RUDDER_ASSIGN(const cache::PolicyInfo* const policy, cache::find_policy(options.policy));
    made->planner_ =
        std::make_unique<cache::Planner>(policy->make(context, options.settings), options.slots, horizon);
    return made;
  }
  const cache::SteerTerms terms = options.steersman->terms(options.slots, options.settings);
  RUDDER_TRY(cache::check_steer(terms.first, terms.first, context));
  made->ahead_ = terms.ahead;
  made->planner_ = std::make_unique<cache::Planner>(
      cache::make_steered(context, terms.settings, terms.first, options.steersman), options.slots, horizon);
  RUDDER_TRY(options.steersman->begin(*made->planner_, made->context_));
  return made;
}

}  // namespace rudder::dataplane
