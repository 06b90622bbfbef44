// SPDX-License-Identifier: Apache-2.0
// Runs a policy over batches as the planner does, and keeps what the buffer held after each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

namespace rudder::cache::testing_support {

using Batches = std::vector<std::vector<NodeId>>;

/// Draws rows by Zipf's law: row i with weight (i + 1)^-exponent. Rows are permuted over the ids when
/// `shuffled`.
class ZipfRows {
 public:
  ZipfRows(std::uint64_t seed, std::size_t rows, double exponent, bool shuffled) : ids_(rows), sums_(rows) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      sum += std::pow(static_cast<double>(i + 1), -exponent);
      sums_[i] = sum;
      ids_[i] = static_cast<NodeId>(i);
    }
    CounterRng rng({seed, 0x7a697066});
    for (std::size_t i = rows; shuffled && i > 1; --i) {
      std::swap(ids_[i - 1], ids_[static_cast<std::size_t>(rng.below(i))]);
    }
  }

  [[nodiscard]] NodeId draw(CounterRng& rng) const {
    const auto at = std::upper_bound(sums_.begin(), sums_.end(), rng.unit() * sums_.back());
    return ids_[static_cast<std::size_t>(std::min(at, sums_.end() - 1) - sums_.begin())];
  }
  [[nodiscard]] std::vector<NodeId> batch(CounterRng& rng, std::size_t draws) const {
    std::set<NodeId> rows;
    for (std::size_t i = 0; i < draws; ++i) {
      rows.insert(draw(rng));
    }
    return {rows.begin(), rows.end()};
  }
  /// The probability of each row in one draw.
  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> out(ids_.size());
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      out[static_cast<std::size_t>(ids_[i])] = (sums_[i] - (i == 0 ? 0.0 : sums_[i - 1])) / sums_.back();
    }
    return out;
  }

 private:
  std::vector<NodeId> ids_;
  std::vector<double> sums_;
};

inline Batches zipf_batches(std::uint64_t seed, std::size_t rows, double exponent, std::size_t steps,
                            std::size_t draws) {
  const ZipfRows zipf(seed, rows, exponent, true);
  Batches out;
  for (std::size_t step = 0; step < steps; ++step) {
    CounterRng rng({seed, step});
    out.push_back(zipf.batch(rng, draws));
  }
  return out;
}

struct Outcome {
  Counts totals;
  Plan fill;
  std::vector<Plan> plans;  ///< by step
  std::vector<std::vector<NodeId>>
      before;  ///< by step: what the buffer held when the batch was served, ascending
};

[[nodiscard]] inline std::vector<NodeId> contents(const Residency& buffer) {
  std::vector<NodeId> rows;
  for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
    if (buffer.row_at(slot) != kNoNode) {
      rows.push_back(buffer.row_at(slot));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// `before` has one entry more than there are steps: the last is what the buffer held at the end.
inline Outcome run_policy(std::unique_ptr<Policy> policy, SlotId capacity, const Batches& batches) {
  Outcome out;
  Planner planner(std::move(policy), capacity, 0);
  std::size_t pushed = 0;
  bool started = false;
  while (!planner.done()) {
    if (planner.wants_input()) {
      if (pushed < batches.size()) {
        planner.push(batches[pushed++]);
      } else {
        planner.finish();
      }
      continue;
    }
    const std::vector<NodeId> held = contents(planner.residency());
    Plan plan = planner.next();
    if (plan.fill) {
      out.fill = std::move(plan);
    } else {
      out.before.push_back(held);
      out.plans.push_back(std::move(plan));
    }
    started = true;
  }
  if (started) {
    out.before.push_back(contents(planner.residency()));
  }
  out.totals = planner.totals();
  return out;
}

[[nodiscard]] inline PolicyContext context_of(SlotId capacity, StepId steps_per_epoch = 1) {
  PolicyContext context;
  context.capacity = capacity;
  context.steps_per_epoch = steps_per_epoch;
  return context;
}

[[nodiscard]] inline std::unique_ptr<Policy> make_policy(std::string_view name, const PolicyContext& context,
                                                         const PolicySettings& settings = {}) {
  return find_policy(name).value()->make(context, settings);
}

}  // namespace rudder::cache::testing_support
