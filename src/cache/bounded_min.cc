// SPDX-License-Identifier: Apache-2.0
// Belady's rule in batch form with bounded knowledge: `lookahead` (MIN-L) and, with the whole run known,
// `min`.
#include "cache/bounded_min.h"

#include <algorithm>
#include <bit>

#include "cache/future_uses.h"
#include "cache/slot_heap.h"
#include "cache/slot_lists.h"
#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

class BoundedMin final : public Cloneable<BoundedMin> {
 public:
  using Step = FutureUses::Step;

  /// The window ends when it holds `distinct` distinct rows or `batches` batches beyond the one to serve.
  BoundedMin(const PolicyContext& context, std::size_t batches, std::size_t distinct)
      : context_(context),
        batches_(batches),
        distinct_(distinct),
        by_use_(context.capacity, kInitialLists),
        lists_(kInitialLists),
        unknown_(context.capacity),
        use_(context.capacity, FutureUses::kUnknown),
        free_(context.capacity) {}

  [[nodiscard]] bool wants_more() const override {
    const std::size_t known = future_.end() - future_.begin();
    if (context_.capacity == 0 || all_known() || known > batches_) {
      return false;
    }
    // While the buffer has room for the whole batch there is nothing to decide.
    return free_ < future_.front_size() && future_.distinct_after_front() < distinct_;
  }

  void reveal(StepId step, std::span<const NodeId> rows) override {
    if (context_.capacity > 0) {
      RUDDER_CHECK(step == future_.end(), "batches must be revealed in order");
      future_.add(rows);
    }
  }

  void serve(const Request& request, Residency& buffer) override {
    if (context_.capacity == 0) {
      return;
    }
    fit_lists();
    absorb_first_uses(buffer);
    classify(request, buffer);
    future_.pop(request.rows);
    admit(request.rows, buffer);
    free_ = buffer.capacity() - buffer.size();
  }

  void adopt(const Residency& buffer) override {
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      if (buffer.row_at(slot) != kNoNode) {
        attach(slot, buffer.row_at(slot), FutureUses::kUnknown);
      }
    }
    free_ = buffer.capacity() - buffer.size();
  }

 private:
  static constexpr std::uint32_t kInitialLists = 16;

  [[nodiscard]] bool all_known() const { return context_.steps > 0 && future_.end() >= context_.steps; }
  [[nodiscard]] double score(NodeId row) const {
    return context_.vip.empty() ? static_cast<double>(degree_of(context_, row))
                                : static_cast<double>(context_.vip[static_cast<std::size_t>(row)]);
  }
  [[nodiscard]] std::uint32_t list_of(Step step) const { return step & (lists_ - 1); }

  void attach(SlotId slot, NodeId row, Step use) {
    use_[slot] = use;
    if (use == FutureUses::kUnknown) {
      unknown_.insert({score(row), row, slot});
    } else {
      by_use_.push_back(list_of(use), slot);
    }
  }

  /// Makes the ring of lists as long as the window.
  void fit_lists() {
    const Step batches = future_.end() - future_.begin();
    if (batches <= lists_) {
      return;
    }
    const std::uint32_t larger = std::bit_ceil(batches);
    SlotLists lists(context_.capacity, larger);
    for (std::uint32_t list = 0; list < lists_; ++list) {
      for (SlotId slot = by_use_.front(list); slot != kNoSlot; slot = by_use_.after(slot)) {
        lists.push_back(use_[slot] & (larger - 1), slot);
      }
    }
    by_use_ = std::move(lists);
    lists_ = larger;
  }

  /// Resident rows whose next use has just come into the window.
  void absorb_first_uses(const Residency& buffer) {
    if (!unknown_.empty()) {
      for (const FutureUses::FirstUse& first : future_.first_uses()) {
        const SlotId slot = buffer.find(first.row);
        if (slot != kNoSlot) {
          unknown_.erase(slot);
          attach(slot, first.row, first.step);
        }
      }
    }
    future_.clear_first_uses();
  }

  /// Gives the hits their next use and lists the misses worth keeping. Rows never used again go.
  void classify(const Request& request, Residency& buffer) {
    known_.clear();
    beyond_.clear();
    const bool ends = all_known();
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      const SlotId slot = request.slots[i];
      const Step use = future_.next_use(i);
      if (slot != kNoSlot) {
        RUDDER_DCHECK(use_[slot] == future_.begin(), "a hit must have been expected");
        by_use_.remove(slot);
        if (use == FutureUses::kUnknown && ends) {
          buffer.clear(slot);
        } else {
          attach(slot, request.rows[i], use);
        }
      } else if (use != FutureUses::kUnknown) {
        known_.push_back(std::uint64_t{use} << 32 | i);
      } else if (!ends) {
        beyond_.push_back({score(request.rows[i]), request.rows[i]});
      }
    }
    while (ends && !unknown_.empty()) {
      const SlotId slot = unknown_.top().slot;
      unknown_.erase(slot);
      buffer.clear(slot);
    }
  }

  /// Places candidates, best first, until none beats the worst resident row.
  void admit(std::span<const NodeId> rows, Residency& buffer) {
    if (buffer.capacity() - buffer.size() < known_.size() + beyond_.size()) {
      std::sort(known_.begin(), known_.end());
      std::sort(beyond_.begin(), beyond_.end());
    }
    Step farthest = future_.end();
    for (const std::uint64_t key : known_) {
      const auto use = static_cast<Step>(key >> 32);
      const SlotId slot = room_for_known(use, farthest, buffer);
      if (slot == kNoSlot) {
        return;
      }
      const NodeId row = rows[key & 0xffff'ffff];
      buffer.place(slot, row);
      attach(slot, row, use);
    }
    for (const Scored<double>& candidate : beyond_) {
      const SlotId slot = room_for_unknown(candidate.score, buffer);
      if (slot == kNoSlot) {
        return;
      }
      buffer.place(slot, candidate.row);
      attach(slot, candidate.row, FutureUses::kUnknown);
    }
  }

  /// A slot that is free or whose row is worth less than one used at `use`; kNoSlot when there is none. No
  /// slot has its next use after `farthest`, which is lowered.
  SlotId room_for_known(Step use, Step& farthest, const Residency& buffer) {
    if (!buffer.full()) {
      return buffer.free_slot();
    }
    if (!unknown_.empty()) {
      const SlotId slot = unknown_.top().slot;
      unknown_.erase(slot);
      return slot;
    }
    while (farthest > use && by_use_.empty(list_of(farthest))) {
      --farthest;
    }
    if (farthest <= use) {
      return kNoSlot;
    }
    const SlotId slot = by_use_.front(list_of(farthest));
    by_use_.remove(slot);
    return slot;
  }

  SlotId room_for_unknown(double score, const Residency& buffer) {
    if (!buffer.full()) {
      return buffer.free_slot();
    }
    if (unknown_.empty() || unknown_.top().score >= score) {
      return kNoSlot;
    }
    const SlotId slot = unknown_.top().slot;
    unknown_.erase(slot);
    return slot;
  }

  PolicyContext context_;
  std::size_t batches_;
  std::size_t distinct_;
  FutureUses future_;
  // Every resident row is either in by_use_, in the list of its next use, or in unknown_.
  SlotLists by_use_;
  std::uint32_t lists_;  ///< lists in by_use_, a power of two: a ring by step
  SlotHeap unknown_;
  std::vector<Step> use_;               ///< by slot
  SlotId free_;                         ///< free slots after the last serve
  std::vector<std::uint64_t> known_;    ///< misses with a next use: use << 32 | position in the batch
  std::vector<Scored<double>> beyond_;  ///< misses without
};

}  // namespace

std::unique_ptr<Policy> make_bounded_min(const PolicyContext& context, std::size_t batches,
                                         std::size_t distinct) {
  return std::make_unique<BoundedMin>(context, batches, distinct);
}

}  // namespace rudder::cache
