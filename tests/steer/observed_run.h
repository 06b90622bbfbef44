// SPDX-License-Identifier: Apache-2.0
// Batches as a trainer would show them to an observer, planned by a real planner, and what a literal reading
// of Window says of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/core/rng.h"
#include "rudder/steer/observer.h"

namespace rudder::steer::testing_support {

/// A plan with all that an ObservedBatch points to.
struct PlannedBatch {
  cache::Plan plan;
  std::vector<SlotId> freed;
  std::vector<NodeId> resident;  ///< after the batch
  std::vector<OwnerLoad> owners;
  ObservedBatch observed;
};

/// Plans `steps` random batches of about `rows` of `nodes` rows, which drift, under `policy`.
inline std::vector<PlannedBatch> planned_run(const std::string& policy, SlotId slots, NodeId nodes,
                                             std::size_t rows, StepId steps, std::uint64_t seed) {
  CounterRng rng({seed});
  cache::PolicyContext context;
  context.capacity = slots;
  context.steps = steps;
  context.steps_per_epoch = 10;
  cache::Planner planner((*cache::find_policy(policy))->make(context, cache::PolicySettings{}), slots, 1);
  std::vector<PlannedBatch> run;
  std::vector<NodeId> before(slots, kNoNode);
  cache::Counts filled;
  StepId pushed = 0;
  while (!planner.done()) {
    if (planner.wants_input()) {
      if (pushed == steps) {
        planner.finish();
        continue;
      }
      std::set<NodeId> batch;
      const auto centre = static_cast<NodeId>(pushed * static_cast<std::uint64_t>(nodes) / (2 * steps));
      for (std::size_t i = 0; i < rows; ++i) {
        batch.insert((centre + static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes) / 2))) %
                     nodes);
      }
      planner.push({batch.begin(), batch.end()});
      ++pushed;
      continue;
    }
    PlannedBatch next{planner.next(), {}, {}, std::vector<OwnerLoad>(4), {}};
    if (next.plan.fill) {
      filled = next.plan.counts;
      continue;
    }
    next.plan.counts += std::exchange(filled, {});
    for (SlotId slot = 0; slot < slots; ++slot) {
      const NodeId row = planner.residency().row_at(slot);
      if (row != kNoNode) {
        next.resident.push_back(row);
      } else if (before[slot] != kNoNode) {
        next.freed.push_back(slot);
      }
      before[slot] = row;
    }
    for (OwnerLoad& load : next.owners) {
      load = {rng.below(100), rng.unit(), rng.below(5)};
    }
    run.push_back(std::move(next));
  }
  for (PlannedBatch& each : run) {
    each.observed = {.step = each.plan.step,
                     .times = {rng.unit(), rng.unit(), rng.unit()},
                     .ready = static_cast<std::uint32_t>(rng.below(5)),
                     .waiting = static_cast<std::uint32_t>(rng.below(5)),
                     .counts = each.plan.counts,
                     .slots = slots,
                     .resident = each.resident.size(),
                     .known_ahead = rng.below(20),
                     .rows = each.plan.rows,
                     .sources = each.plan.sources,
                     .fetch = each.plan.fetch,
                     .admissions = each.plan.admissions,
                     .freed = each.freed,
                     .wire_bytes = rng.below(10'000),
                     .moving_seconds = rng.unit(),
                     .owners = each.owners};
  }
  return run;
}

/// The window over batches [first, end) of the run, `asked_before` being the rows of the window before.
inline Window literal_window(const std::vector<PlannedBatch>& run, std::size_t first, std::size_t end,
                             const std::set<NodeId>& asked_before) {
  Window window;
  double moving_seconds = 0;
  std::set<NodeId> asked;
  for (std::size_t i = first; i < end; ++i) {
    const ObservedBatch& batch = run[i].observed;
    window.seconds += batch.times.total();
    window.compute_seconds += batch.times.compute;
    window.all_reduce_seconds += batch.times.all_reduce;
    window.stall_seconds += batch.times.stall;
    window.counts += batch.counts;
    window.wire_bytes += batch.wire_bytes;
    moving_seconds += batch.moving_seconds;
    for (std::size_t owner = 0; owner < batch.owners.size(); ++owner) {
      window.owner[owner].rows += batch.owners[owner].rows;
      window.owner[owner].seconds += batch.owners[owner].seconds;
      window.owner[owner].answers += batch.owners[owner].answers;
    }
    for (const NodeId row : batch.rows) {
      window.fresh += asked_before.count(row) == 0 ? 1U : 0U;
      asked.insert(row);
    }
  }
  const PlannedBatch& last = run[end - 1];
  window.first = run[first].observed.step;
  window.end = last.observed.step + 1;
  window.ready = last.observed.ready;
  window.waiting = last.observed.waiting;
  window.slots = last.observed.slots;
  window.known_ahead = last.observed.known_ahead;
  window.resident = last.resident.size();
  window.stale = static_cast<std::uint64_t>(std::count_if(last.resident.begin(), last.resident.end(),
                                                          [&](NodeId row) { return asked.count(row) == 0; }));
  window.link_bytes_per_second =
      moving_seconds > 0 ? static_cast<double>(window.wire_bytes) / moving_seconds : 0;
  return window;
}

/// The rows that batches [first, end) asked for.
inline std::set<NodeId> asked_rows(const std::vector<PlannedBatch>& run, std::size_t first, std::size_t end) {
  std::set<NodeId> asked;
  for (std::size_t i = first; i < end; ++i) {
    asked.insert(run[i].plan.rows.begin(), run[i].plan.rows.end());
  }
  return asked;
}

}  // namespace rudder::steer::testing_support
