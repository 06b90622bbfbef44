// SPDX-License-Identifier: Apache-2.0
// How many seeds of a batch have a label: what its mean loss is divided by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sample/schedule.h"

#include "train/collective.h"
#include "train/step_groups.h"

namespace rudder::train {

/// Labels of the nodes from `begin` on that a rank owns; negative ones count as none. Empty: all nodes have
/// one.
struct OwnLabels {
  NodeId begin = 0;
  std::span<const std::int64_t> labels;

  [[nodiscard]] bool has(NodeId v) const noexcept {
    return labels.empty() || labels[static_cast<std::size_t>(v - begin)] >= 0;
  }
};

/// Labelled seeds of each batch of an epoch, over all ranks. No rank knows the others' labels: ranks add up
/// their counts once an epoch, or never when all training nodes have labels.
class LabelledSeeds {
 public:
  /// Every rank calls it. `schedule` and the labels must outlive the object. An error on all ranks when no
  /// training node of any has a label.
  [[nodiscard]] static Result<LabelledSeeds> create(const sample::Schedule& schedule, const OwnLabels& own,
                                                    Collective& collective);
  /// Every rank calls it. O(training nodes of this rank).
  [[nodiscard]] Status begin_epoch(std::uint32_t epoch, Collective& collective);

  /// Of `count` batches from `first` on of the epoch that was begun last.
  [[nodiscard]] std::uint64_t of_group(std::uint32_t first, std::uint32_t count) const;
  /// Steps of the epoch that have a labelled seed on some rank, at least one.
  [[nodiscard]] std::uint64_t steps(const StepGroups& groups) const;

 private:
  LabelledSeeds(const sample::Schedule& schedule, const OwnLabels& own) : schedule_(&schedule), own_(own) {}

  const sample::Schedule* schedule_;
  OwnLabels own_;
  bool complete_ = false;  ///< all training nodes of all ranks have labels
  std::vector<std::uint64_t> counts_;
};

}  // namespace rudder::train
