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
/// served: its hits are read before any slot is overwritten. Slots are stable. O(1) each, no allocation after
/// construction. Not thread-safe.
class Residency {
 public:
  explicit Residency(SlotId capacity);

  /// Slots in use: [0, capacity()).
  [[nodiscard]] SlotId capacity() const noexcept { return capacity_; }
  [[nodiscard]] SlotId size() const noexcept { return narrow<SlotId>(index_.size()); }
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }
  [[nodiscard]] NodeId row_at(SlotId slot) const noexcept { return rows_[slot]; }  ///< kNoNode when free
  [[nodiscard]] SlotId find(NodeId row) const noexcept { return index_.find(row); }
  /// find() of many rows, batched. Spans of equal length.
  void find_many(std::span<const NodeId> rows, std::span<SlotId> slots) const noexcept {
    index_.find_many(rows, slots);
  }
  void prefetch(NodeId row) const noexcept { index_.prefetch(row); }

  /// A free slot: the one freed last, or else the lowest never used. The buffer must not be full.
  [[nodiscard]] SlotId free_slot() const noexcept;
  /// Puts `row`, which must not be resident, into `slot`, replacing what was there. A row that the served
  /// batch did not miss is fetched on top ("extra"). A slot placed several times in one serve keeps the last
  /// row. A row that was resident when the serve began may go back into its own slot, but into no other one:
  /// rows don't move.
  void place(SlotId slot, NodeId row);
  /// Frees a slot, which must be taken.
  void clear(SlotId slot);
  /// Uses slots [0, capacity) only, at most as many as the buffer was made with; rows in others are dropped.
  /// O(slots).
  void set_capacity(SlotId capacity);
  /// Slots that the buffer was made with.
  [[nodiscard]] SlotId slots() const noexcept { return narrow<SlotId>(rows_.size()); }

 private:
  friend class Planner;
  void touch(SlotId slot);
  void forget_touched();

  void list_free_slots();

  SlotId capacity_;
  SlotIndex index_;
  std::vector<NodeId> rows_;
  std::vector<SlotId> free_;           ///< stack, the next free slot last
  std::vector<SlotId> free_position_;  ///< by slot: place in free_
  std::vector<SlotId> touched_;        ///< slots changed since the last plan, each once
  std::vector<NodeId> before_;         ///< parallel to touched_: the row at the last plan, or kNoNode
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
  StepId steps = 0;  ///< batches in the run; 0 when not known
  StepId steps_per_epoch = 1;
  std::uint64_t seed = 1;  ///< policy_seed()
  NodeId owned_begin = 0;  ///< nodes [owned_begin, owned_end) are the rank's own, all others remote
  NodeId owned_end = 0;
  std::span<const NodeId> halo;       ///< remote one-hop neighbours of the part, ascending
  std::span<const EdgeIndex> indptr;  ///< of the whole graph: degrees; empty when only part of it is here
  std::span<const std::uint32_t> halo_degrees;  ///< then: parallel to halo, from the owners
  std::span<const float> vip;                   ///< inclusion probability by node (graph/vip.h)
};

/// The seed of the policy of a buffer whose owner's nodes begin at `owned_begin`: of its own for each buffer
/// of a run, and the same live and in replay.
[[nodiscard]] std::uint64_t policy_seed(std::uint64_t run_seed, NodeId owned_begin) noexcept;

/// Settings of policies that have some. Each policy's table entry names those it reads.
struct PolicySettings {
  std::uint32_t max_lookahead =
      64;  ///< lookahead: most batches to look ahead; fewer when 4 x capacity rows are known
  std::uint32_t score_period = 8;        ///< score: batches between replacements
  std::uint32_t score_stale_after = 25;  ///< score: un-hit batches until a slot of initial score 1 is stale
  double score_alpha = 0.05;             ///< score: decay a batch
  std::string score_init = "degree";     ///< score: empty, degree or random
};

/// Decides what the buffer holds.
///
/// The model. Serving batch t, its hits are read from the buffer and all its misses are fetched into staging
/// memory, which is separate from the buffer and as large as a batch needs. Then the policy chooses what the
/// buffer holds next: any subset of (buffer + misses), and on top rows of its own choice, which are fetched
/// as extras. So hits + misses == requests and fetched == misses + extras, the initial fill included, and a
/// batch may be larger than the buffer.
///
/// What is known ahead. Batch t has always been revealed before serve(t), and batch 0 before start(). Batches
/// beyond are revealed only while wants_more(). A policy is a function of its settings and of these calls;
/// nothing else may enter (no clocks, no addresses), so that replays repeat live runs.
class Policy {
 public:
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// An independent copy in the same state; what the context's spans show is shared.
  [[nodiscard]] virtual std::unique_ptr<Policy> clone() const = 0;

  /// Fills the empty buffer before the first batch (static policies). Default: nothing.
  virtual void start(Residency& buffer);
  /// True while the policy wants to know one more future batch before start() or the next serve(). Must
  /// become false after finitely many reveal(). Not heard any more once the run's last batch is revealed.
  /// Default: false.
  [[nodiscard]] virtual bool wants_more() const;
  /// The next unknown batch: `step` counts from 0, each step once, in order. Rows as in Request. Default:
  /// ignored.
  virtual void reveal(StepId step, std::span<const NodeId> rows);
  /// Before the rows of batch `step`, the next to be served, are looked up. Rows may leave the buffer, none
  /// may come. Default: nothing.
  virtual void prepare(StepId step, Residency& buffer);
  /// Batch `request` is served: hits from their slots, misses from staging memory. Decide what the buffer
  /// holds next.
  virtual void serve(const Request& request, Residency& buffer) = 0;

  /// Instead of start(), before any reveal(): the buffer holds rows that another policy put there. They are
  /// taken over where they are, as rows that came in just now. Only where the table says `adopts`.
  virtual void adopt(const Residency& buffer);
  /// With the next serve() the buffer uses slots [0, slots): rows in slots beyond are dropped, free slots may
  /// come. Returns whether the policy goes on with what it knows of the rows that stay; if not, another one
  /// adopts them. Default: false.
  [[nodiscard]] virtual bool resize(SlotId slots);
  /// Rows not used for long shall be replaced with the next serve(). Default: ignored.
  virtual void replace_once();

 protected:
  Policy() = default;
  Policy(const Policy&) = default;
};

/// Gives a policy of copyable members its clone(): class Lru final : public Cloneable<Lru>.
template <class Derived>
class Cloneable : public Policy {
 public:
  [[nodiscard]] std::unique_ptr<Policy> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// One line of the policy table.
struct PolicyInfo {
  std::string_view name;
  std::string_view help;
  bool live = true;        ///< false: needs the whole trace (replay only)
  bool overlapped = true;  ///< false: nothing may be sampled or fetched ahead (none)
  bool needs_vip = false;
  bool does_without_vip = false;  ///< goes by the halo's degrees where no inclusion probability is to be had
  bool needs_degrees = false;
  bool adopts = false;  ///< can take over a buffer in the middle of a run (Policy::adopt)
  std::unique_ptr<Policy> (*make)(const PolicyContext&, const PolicySettings&) = nullptr;
};

/// All policies, in the order of the documentation. To add one, write src/cache/policies/NAME.cc with a
/// function `PolicyInfo NAME_policy()` and add NAME to the list in src/cache/policy_table.cc.
[[nodiscard]] std::span<const PolicyInfo> policy_table();
/// An unknown name is an error with a near-miss hint.
[[nodiscard]] Result<const PolicyInfo*> find_policy(std::string_view name);

}  // namespace rudder::cache
