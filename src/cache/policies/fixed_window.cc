// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rudder/cache/policy.h"

namespace rudder::cache {
namespace {

/// Prefetches the whole next batch, as far as it fits, and keeps nothing else. Rows of the next batch that
/// are resident or were missed just now are taken first, without fetching them again; the others are extras,
/// lowest id first. High hit rates with little traffic saved: the reason why fetched rows are counted, not
/// only hits. O(R) a batch.
class FixedWindow final : public Cloneable<FixedWindow> {
 public:
  explicit FixedWindow(SlotId capacity) : capacity_(capacity) {}

  [[nodiscard]] bool wants_more() const override { return capacity_ > 0 && revealed_ < served_ + 2; }

  void reveal(StepId step, std::span<const NodeId> rows) override {
    revealed_ = step + 1;
    (step == served_ ? current_ : next_).assign(rows.begin(), rows.end());
  }

  void start(Residency& buffer) override {
    for (const NodeId row : current_) {
      place_if_room(row, buffer);
    }
  }

  void serve(const Request& request, Residency& buffer) override {
    // The buffer holds rows of this batch only, so its hits are all there is to clear.
    seen_.clear();
    std::size_t at = 0;
    for (std::size_t i = 0; i < request.rows.size(); ++i) {
      while (at < next_.size() && next_[at] < request.rows[i]) {
        ++at;
      }
      const bool used_next = at < next_.size() && next_[at] == request.rows[i];
      if (used_next) {
        seen_.push_back(at);
      } else if (request.slots[i] != kNoSlot) {
        buffer.clear(request.slots[i]);
      }
    }
    for (const std::size_t i : seen_) {
      if (buffer.find(next_[i]) == kNoSlot) {
        place_if_room(next_[i], buffer);
      }
    }
    for (std::size_t i = 0, seen = 0; i < next_.size(); ++i) {
      if (seen < seen_.size() && seen_[seen] == i) {
        ++seen;
      } else {
        place_if_room(next_[i], buffer);
      }
    }
    served_ = request.step + 1;
    current_.swap(next_);
    next_.clear();
  }

 private:
  static void place_if_room(NodeId row, Residency& buffer) {
    if (!buffer.full()) {
      buffer.place(buffer.free_slot(), row);
    }
  }

  SlotId capacity_;
  StepId served_ = 0;    ///< batches served
  StepId revealed_ = 0;  ///< batches revealed
  std::vector<NodeId> current_;
  std::vector<NodeId> next_;
  std::vector<std::size_t> seen_;  ///< positions in next_ of rows that this batch uses too
};

}  // namespace

PolicyInfo fixed_window_policy() {
  return {.name = "fixed-window",
          .help = "fetches all of the next batch, keeps nothing beyond it",
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<FixedWindow>(context.capacity);
          }};
}

}  // namespace rudder::cache
