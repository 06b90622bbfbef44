// SPDX-License-Identifier: Apache-2.0
// A literal machine that carries plans out, and random traces to plan for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

#include "support/policy_driver.h"

namespace rudder::cache::testing_support {

using Batches = std::vector<std::vector<NodeId>>;

/// A run to plan for: batches and what policies may know about the graph. Nodes [0, owned) are the rank's
/// own.
struct Scene {
  Batches batches;
  NodeId nodes = 0;
  NodeId owned = 0;
  StepId steps_per_epoch = 1;
  std::vector<NodeId> halo;
  std::vector<EdgeIndex> indptr;
  std::vector<float> vip;

  [[nodiscard]] PolicyContext context(SlotId capacity) const {
    PolicyContext context;
    context.capacity = capacity;
    context.steps = batches.size();
    context.steps_per_epoch = steps_per_epoch;
    context.owned_end = owned;
    context.halo = halo;
    context.indptr = indptr;
    context.vip = vip;
    return context;
  }
};

/// Random degrees, inclusion probabilities and halo for scene.nodes nodes.
inline void add_graph(Scene& scene, CounterRng& rng) {
  scene.indptr.assign(1, 0);
  for (NodeId node = 0; node < scene.nodes; ++node) {
    scene.indptr.push_back(scene.indptr.back() + static_cast<EdgeIndex>(rng.below(6)));
    scene.vip.push_back(static_cast<float>(rng.below(5)) * 0.25F);
    if (node >= scene.owned && rng.below(3) != 0) {
      scene.halo.push_back(node);
    }
  }
}

/// Batches of 0 to most_rows rows, uniform over the remote nodes; a few nodes are drawn more often.
inline Scene random_scene(std::uint64_t seed, NodeId remote, std::size_t steps, std::size_t most_rows) {
  CounterRng rng({seed, 11});
  Scene scene;
  scene.owned = static_cast<NodeId>(rng.below(3));
  scene.nodes = scene.owned + remote;
  add_graph(scene, rng);
  for (std::size_t step = 0; step < steps; ++step) {
    std::set<NodeId> rows;
    for (std::size_t draws = rng.below(most_rows + 1); draws > 0; --draws) {
      const std::uint64_t span =
          rng.below(2) == 0 ? static_cast<std::uint64_t>(remote) : static_cast<std::uint64_t>(remote) / 3 + 1;
      rows.insert(scene.owned + static_cast<NodeId>(rng.below(span)));
    }
    scene.batches.emplace_back(rows.begin(), rows.end());
  }
  scene.steps_per_epoch = steps % 2 == 0 ? std::max<StepId>(steps / 2, 1) : std::max<StepId>(steps, 1);
  return scene;
}

/// Communities visited at random, rows within one by a power law: what sampled graphs look like from afar.
/// The inclusion probabilities are those of the draw.
inline Scene community_scene(std::uint64_t seed, NodeId remote, std::size_t steps,
                             std::size_t rows_per_batch) {
  constexpr NodeId kCommunities = 16;
  CounterRng rng({seed, 12});
  Scene scene;
  scene.nodes = remote;
  add_graph(scene, rng);
  const NodeId size = remote / kCommunities;
  for (NodeId node = 0; node < remote; ++node) {
    scene.vip[static_cast<std::size_t>(node)] = 1.0F / static_cast<float>(1 + node % size);
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const NodeId centre = static_cast<NodeId>(rng.below(kCommunities));
    std::set<NodeId> rows;
    while (rows.size() < rows_per_batch) {
      const NodeId community = rng.below(2) == 0 ? centre : static_cast<NodeId>(rng.below(kCommunities));
      const double rank = std::pow(static_cast<double>(size), rng.unit()) - 1;
      rows.insert(community * size + std::min(static_cast<NodeId>(rank), size - 1));
    }
    scene.batches.emplace_back(rows.begin(), rows.end());
  }
  scene.steps_per_epoch = std::max<StepId>(steps / 4, 1);
  return scene;
}

/// Slots and staging memory whose rows hold their own id. apply() gathers a plan's batch, carries its
/// admissions out and reports every breach of the planner's contract as a test failure.
class LiteralMachine {
 public:
  LiteralMachine(SlotId capacity, std::uint32_t horizon) : slots_(capacity, kNoNode), horizon_(horizon) {}

  void apply(const Plan& plan, const Residency& after) {
    drop_beyond(after.capacity());
    check_fetch(plan);
    gather(plan);
    admit(plan);
    check_residency(plan, after);
    fetched_before_.emplace_front(plan.fetch.begin(), plan.fetch.end());
    if (fetched_before_.size() >= std::max<std::size_t>(horizon_, 1)) {
      fetched_before_.pop_back();
    }
  }

 private:
  static bool ascending(const std::vector<NodeId>& rows, std::size_t from, std::size_t to) {
    for (std::size_t i = from + 1; i < to; ++i) {
      if (rows[i - 1] >= rows[i]) {
        return false;
      }
    }
    return true;
  }

  /// What a smaller buffer loses, before the batch.
  void drop_beyond(SlotId capacity) {
    for (auto entry = resident_.begin(); entry != resident_.end();) {
      entry = entry->second < capacity ? std::next(entry) : resident_.erase(entry);
    }
  }

  void check_fetch(const Plan& plan) const {
    ASSERT_LE(plan.prompt, plan.fetch.size());
    EXPECT_TRUE(ascending(plan.fetch, 0, plan.prompt)) << "prompt rows";
    EXPECT_TRUE(ascending(plan.fetch, plan.prompt, plan.fetch.size())) << "deferred rows";
    EXPECT_EQ(std::set<NodeId>(plan.fetch.begin(), plan.fetch.end()).size(), plan.fetch.size())
        << "a row is fetched twice";
    for (std::size_t i = 0; i < plan.fetch.size(); ++i) {
      EXPECT_EQ(resident_.count(plan.fetch[i]), 0U) << "resident row " << plan.fetch[i] << " is fetched";
      const bool recent = std::any_of(fetched_before_.begin(), fetched_before_.end(),
                                      [&](const auto& rows) { return rows.count(plan.fetch[i]) > 0; });
      EXPECT_EQ(recent, i >= plan.prompt) << "row " << plan.fetch[i] << " in the wrong half of fetch";
    }
    EXPECT_EQ(plan.counts.fetched, plan.fetch.size());
  }

  void gather(const Plan& plan) const {
    ASSERT_EQ(plan.sources.size(), plan.rows.size());
    EXPECT_TRUE(ascending(plan.rows, 0, plan.rows.size()));
    std::size_t hits = 0;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const RowSource source = plan.sources[i];
      ASSERT_LT(source.place, source.staged ? plan.fetch.size() : slots_.size());
      EXPECT_EQ(source.staged ? plan.fetch[source.place] : slots_[source.place], plan.rows[i])
          << "wrong row read";
      EXPECT_EQ(source.staged, resident_.count(plan.rows[i]) == 0) << "row " << plan.rows[i];
      hits += source.staged ? 0U : 1U;
    }
    EXPECT_EQ(plan.counts.requests, plan.rows.size());
    EXPECT_EQ(plan.counts.hits, hits);
  }

  void admit(const Plan& plan) {
    std::set<SlotId> slots;
    std::set<std::uint32_t> staged;
    for (const Admission& admission : plan.admissions) {
      ASSERT_LT(admission.slot, slots_.size());
      ASSERT_LT(admission.staged, plan.fetch.size());
      EXPECT_TRUE(slots.insert(admission.slot).second) << "two rows into slot " << admission.slot;
      EXPECT_TRUE(staged.insert(admission.staged).second) << "one row into two slots";
      slots_[admission.slot] = plan.fetch[admission.staged];
    }
    const std::set<NodeId> requested(plan.rows.begin(), plan.rows.end());
    for (std::uint32_t i = 0; i < plan.fetch.size(); ++i) {
      EXPECT_TRUE(requested.count(plan.fetch[i]) > 0 || staged.count(i) > 0)
          << "row " << plan.fetch[i] << " is fetched for nothing";
    }
  }

  void check_residency(const Plan& plan, const Residency& after) {
    ASSERT_EQ(after.slots(), slots_.size());
    resident_.clear();
    for (SlotId slot = 0; slot < after.capacity(); ++slot) {
      const NodeId row = after.row_at(slot);
      if (row != kNoNode) {
        EXPECT_EQ(slots_[slot], row) << "slot " << slot << " does not hold what the planner believes";
        EXPECT_TRUE(resident_.insert({row, slot}).second) << "row " << row << " is resident twice";
        EXPECT_EQ(after.find(row), slot);
      }
    }
    EXPECT_EQ(after.size(), resident_.size());
    std::size_t bypassed = 0;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      bypassed += plan.sources[i].staged && resident_.count(plan.rows[i]) == 0 ? 1U : 0U;
    }
    EXPECT_EQ(plan.counts.bypassed, bypassed);
  }

  std::vector<NodeId> slots_;
  std::uint32_t horizon_;
  std::map<NodeId, SlotId> resident_;
  std::deque<std::set<NodeId>> fetched_before_;  ///< by the last horizon - 1 plans
};

/// How early batches are pushed.
enum class Push { kLazy, kEager };

/// All plans of a run, carried out by a LiteralMachine on the way.
inline std::vector<Plan> plan_run(const Scene& scene, std::unique_ptr<Policy> policy, SlotId capacity,
                                  std::uint32_t horizon = 1, Push push = Push::kLazy,
                                  Counts* totals = nullptr) {
  Planner planner(std::move(policy), capacity, horizon);
  LiteralMachine machine(capacity, horizon);
  std::vector<Plan> plans;
  std::size_t pushed = 0;
  while (!planner.done()) {
    if (planner.wants_input() || (push == Push::kEager && pushed < scene.batches.size())) {
      if (pushed < scene.batches.size()) {
        planner.push(scene.batches[pushed++]);
      } else {
        planner.finish();
      }
      continue;
    }
    plans.push_back(planner.next());
    machine.apply(plans.back(), planner.residency());
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  if (totals != nullptr) {
    *totals = planner.totals();
  }
  return plans;
}

/// Rows fetched over a whole run.
inline std::uint64_t fetched_rows(const Scene& scene, std::string_view policy, SlotId capacity,
                                  const PolicySettings& settings = {}) {
  Counts totals;
  static_cast<void>(plan_run(scene, make_policy(policy, scene.context(capacity), settings), capacity, 1,
                             Push::kLazy, &totals));
  return totals.fetched;
}

/// The rows in a buffer.
inline std::set<NodeId> rows_of(const Residency& buffer) {
  std::set<NodeId> rows;
  for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
    if (buffer.row_at(slot) != kNoNode) {
      rows.insert(buffer.row_at(slot));
    }
  }
  return rows;
}

}  // namespace rudder::cache::testing_support
