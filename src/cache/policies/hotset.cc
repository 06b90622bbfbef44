// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/check.h"

#include "cache/policies/row_counts.h"

namespace rudder::cache {
namespace {

/// RapidGNN's cache: for each epoch the rows asked for most often in it (ties: the smaller id), known from
/// the sampling schedule one epoch ahead. At the last batch of an epoch the rows of the next hot set that are
/// not resident replace those that left it; all other rows are fetched and bypassed. Rows fetched in epoch e:
/// |H_e \ H_(e-1)|, less those that the last batch before had just missed, plus the requests outside H_e.
class HotSet final : public Cloneable<HotSet> {
 public:
  explicit HotSet(StepId steps_per_epoch) : steps_per_epoch_(std::max<StepId>(1, steps_per_epoch)) {}

  void start(Residency& buffer) override { rebuild(buffer); }

  /// Before the first batch, and before the last batch of an epoch, the whole epoch that follows is wanted.
  [[nodiscard]] bool wants_more() const override {
    return rebuilds_next() && revealed_ < (epoch_ + 1) * steps_per_epoch_;
  }

  void reveal(StepId step, std::span<const NodeId> rows) override {
    RUDDER_DCHECK(step == revealed_, "batches must be revealed in order");
    ++revealed_;
    counts_.add(rows);
  }

  void serve(const Request& request, Residency& buffer) override {
    served_ = request.step + 1;
    if (served_ == epoch_ * steps_per_epoch_) {
      rebuild(buffer);
    }
  }

 private:
  /// True when the next call builds the hot set of epoch_.
  [[nodiscard]] bool rebuilds_next() const { return epoch_ == 0 || served_ + 1 == epoch_ * steps_per_epoch_; }

  void rebuild(Residency& buffer) {
    ++epoch_;
    if (counts_.entries().empty()) {
      return;  // the run ends here, or nobody asks for anything
    }
    const std::vector<NodeId> hot = counts_.top(buffer.capacity(), 1);
    for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
      const NodeId row = buffer.row_at(slot);
      if (row != kNoNode && !std::binary_search(hot.begin(), hot.end(), row)) {
        buffer.clear(slot);
      }
    }
    for (const NodeId row : hot) {
      if (buffer.find(row) == kNoSlot) {
        buffer.place(buffer.free_slot(), row);
      }
    }
    counts_.clear();
  }

  StepId steps_per_epoch_;
  StepId epoch_ = 0;  ///< whose batches are counted: the next hot set
  StepId revealed_ = 0;
  StepId served_ = 0;
  RowCounts counts_;
};

}  // namespace

PolicyInfo hotset_policy() {
  PolicyInfo info;
  info.name = "hotset";
  info.help = "each epoch's most asked-for rows, exchanged at the epoch's border";
  info.make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
    return std::make_unique<HotSet>(context.steps_per_epoch);
  };
  return info;
}

}  // namespace rudder::cache
