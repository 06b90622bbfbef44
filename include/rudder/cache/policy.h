// SPDX-License-Identifier: Apache-2.0
// A cache policy decides what the buffer of remote rows holds. It never fetches: it plans.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/slot_index.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// The buffer's occupancy, as policies see and change it. Changes take effect after the batch that is being
/// served: its hits are read before any slot is overwritten. Slots are stable. Not thread-safe.
class Residency {
 public:
  explicit Residency(SlotId capacity);

  [[nodiscard]] SlotId capacity() const noexcept { return narrow<SlotId>(rows_.size()); }
  [[nodiscard]] SlotId size() const noexcept { return narrow<SlotId>(index_.size()); }
  [[nodiscard]] bool full() const noexcept { return size() == capacity(); }
  [[nodiscard]] NodeId row_at(SlotId slot) const noexcept { return rows_[slot]; }  ///< kNoNode when free
  [[nodiscard]] SlotId find(NodeId row) const noexcept { return index_.find(row); }
  void prefetch(NodeId row) const noexcept { index_.prefetch(row); }

  /// A free slot (lowest first); the buffer must not be full.
  [[nodiscard]] SlotId free_slot() const noexcept;
  /// Puts `row`, which must not be resident, into `slot`, replacing what was there. A row that the served
  /// batch did not miss is fetched on top ("extra"). O(1).
  void place(SlotId slot, NodeId row);
  /// Frees a slot.
  void clear(SlotId slot);

 private:
  friend class Planner;
  SlotIndex index_;
  std::vector<NodeId> rows_;
  std::vector<SlotId> free_;     ///< heap, lowest slot on top
  std::vector<SlotId> touched_;  ///< slots changed since the last plan, each once
  std::vector<NodeId> before_;   ///< row at the last plan, for touched slots
  std::vector<std::uint8_t> is_touched_;
};

/// One batch to serve.
struct Request {
  StepId step = 0;
  std::span<const NodeId> rows;   ///< distinct remote rows, ascending
  std::span<const SlotId> slots;  ///< parallel: where the row is resident, or kNoSlot
};

/// What a policy may know besides the requests. Spans outlive the policy. Vectors by node hold one value for
/// each node of the whole graph; empty when the policy's `needs` do not ask for them.
struct PolicyContext {
  SlotId capacity = 0;
  StepId steps = 0;  ///< batches in the run
  StepId steps_per_epoch = 1;
  std::uint64_t seed = 1;
  std::span<const NodeId> halo;       ///< remote one-hop neighbours of the part, ascending
  std::span<const EdgeIndex> indptr;  ///< of the whole graph: degrees
  std::span<const float> vip;         ///< inclusion probability by node (graph/vip.h)
};

/// Settings of policies that have some. Each policy's table entry names those it reads.
struct PolicySettings {
  std::uint32_t max_lookahead =
      256;  ///< lookahead: most batches to look ahead; fewer when 3 x capacity rows are known
  std::uint32_t score_period = 8;        ///< score: batches between replacements
  std::uint32_t score_stale_after = 25;  ///< score: un-hit batches until a slot of initial score 1 is stale
  double score_alpha = 0.05;             ///< score: decay a batch
  std::string score_init = "degree";     ///< score: empty, degree or random
};

class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// Fills the empty buffer before the first batch (static policies). Default: nothing.
  virtual void start(Residency& buffer);
  /// True while the policy wants to know one more future batch before it serves the next one. Called before
  /// start() and before each serve(); must become false after finitely many reveal(). Default: false.
  [[nodiscard]] virtual bool wants_more() const;
  /// The next unknown batch: `step` counts from 0, each step once, in order; always before its serve().
  virtual void reveal(StepId step, std::span<const NodeId> rows);
  /// Batch `request` is served: hits from their slots, misses from staging memory. Decide what the buffer
  /// holds next.
  virtual void serve(const Request& request, Residency& buffer) = 0;
};

/// One line of the policy table.
struct PolicyInfo {
  std::string_view name;
  std::string_view help;
  bool live = true;        ///< false: needs the whole trace (replay only)
  bool overlapped = true;  ///< false: nothing may be sampled or fetched ahead (none)
  bool needs_vip = false;
  std::unique_ptr<Policy> (*make)(const PolicyContext&, const PolicySettings&) = nullptr;
};

/// All policies, in the order of the documentation.
[[nodiscard]] std::span<const PolicyInfo> policy_table();
/// An unknown name is an error with a near-miss hint.
[[nodiscard]] Result<const PolicyInfo*> find_policy(std::string_view name);

}  // namespace rudder::cache
