// SPDX-License-Identifier: Apache-2.0
// Turns batches into plans: where each remote row comes from, what to fetch, what to keep. A pure state
// machine: the same batches give the same plans, live or in replay, whatever the timing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"

namespace rudder::cache {

class Helm;  // steered.h

/// Counts of one batch or of many. requests == hits + misses; fetched == misses + extras.
struct Counts {
  std::uint64_t requests = 0;
  std::uint64_t hits = 0;
  std::uint64_t fetched = 0;   ///< rows moved over the network, fills and rebuilds included
  std::uint64_t bypassed = 0;  ///< misses that the buffer did not keep

  Counts& operator+=(const Counts& other) noexcept {
    requests += other.requests;
    hits += other.hits;
    fetched += other.fetched;
    bypassed += other.bypassed;
    return *this;
  }
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Where one requested row is read from when its batch is gathered.
struct RowSource {
  std::uint32_t place = 0;  ///< slot, or position in `Plan::fetch`
  bool staged = false;
};

/// A row that moves from staging memory into the buffer after the batch has been gathered.
struct Admission {
  std::uint32_t staged = 0;  ///< position in `Plan::fetch`
  SlotId slot = 0;
};

struct Plan {
  bool fill = false;  ///< the initial fill: no requests, comes before step 0
  StepId step = 0;
  std::vector<NodeId> rows;        ///< the batch's distinct remote rows, ascending
  std::vector<RowSource> sources;  ///< parallel to rows
  /// Rows to fetch, the batch's misses and the policy's extras; position = place in staging memory. [0,
  /// prompt) ascending may be asked for at once; [prompt, end) ascending were also fetched for one of the
  /// `horizon` - 1 plans before this one (the fill is a plan) and may still be in flight for it: they are
  /// asked for after every earlier plan has been gathered, so no row is in flight twice.
  std::vector<NodeId> fetch;
  std::uint32_t prompt = 0;
  std::vector<Admission>
      admissions;  ///< distinct slots; apply after gathering this batch, before gathering the next
  Counts counts;
};

/// Feeds one policy. Not thread-safe. Use:
///   while (!done()) { if (wants_input()) { push(...) or finish() } else { next() } }
class Planner {
 public:
  /// `horizon`: plans whose rows may be in flight at the same time, so that the prompt rows of plan p are
  /// asked for when plan p - horizon has been gathered (0 and 1: one plan at a time; nothing is deferred).
  Planner(std::unique_ptr<Policy> policy, SlotId capacity, std::uint32_t horizon);
  /// Goes on independently from the same state.
  Planner(const Planner& other);
  /// The same of a planner whose policy is of make_steered(); the copy's asks `helm`.
  Planner(const Planner& other, Helm* helm);
  Planner& operator=(const Planner&) = delete;
  ~Planner();

  /// True when next() needs one more batch (or finish()) first. Batches pushed although not wanted are queued
  /// and revealed to the policy only when it asks, so plans never depend on how early a batch was pushed.
  [[nodiscard]] bool wants_input() const;
  /// The next batch's distinct remote rows, ascending.
  void push(std::vector<NodeId> rows);
  /// No more batches.
  void finish();
  /// True when finish() was called and every batch has been planned.
  [[nodiscard]] bool done() const;
  /// Plans the next batch (first the fill, if the policy makes one). Requires !wants_input() and !done().
  [[nodiscard]] Plan next();

  /// Batches pushed and not planned, the next one first.
  [[nodiscard]] const std::deque<std::vector<NodeId>>& queued() const noexcept;
  [[nodiscard]] const Counts& totals() const noexcept { return totals_; }
  [[nodiscard]] const Residency& residency() const noexcept { return residency_; }

 private:
  class Impl;

  [[nodiscard]] bool ready() const;
  void reveal_wanted();
  void settle();
  [[nodiscard]] Plan make_plan(std::vector<NodeId> rows, std::span<const SlotId> slots);
  [[nodiscard]] std::size_t count_placed() const;
  void collect_extras(std::span<const NodeId> rows, std::span<const SlotId> slots);

  std::unique_ptr<Policy> policy_;
  Residency residency_;
  Counts totals_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::cache
