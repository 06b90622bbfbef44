// SPDX-License-Identifier: Apache-2.0
#include "train/labelled_seeds.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace rudder::train {

Result<LabelledSeeds> LabelledSeeds::create(const sample::Schedule& schedule, const OwnLabels& own,
                                            Collective& collective) {
  LabelledSeeds out(schedule, own);
  const std::vector<NodeId> mine = schedule.epoch_order(0, collective.rank());
  const auto labelled =
      static_cast<std::uint64_t>(std::ranges::count_if(mine, [&](NodeId v) { return own.has(v); }));
  std::array<std::uint64_t, 2> totals = {labelled, mine.size()};
  RUDDER_TRY(collective.sum(std::span<std::uint64_t>(totals)));
  if (totals[0] == 0) {
    return Error{Errc::kInvalidData, "no training node has a label"};
  }
  out.complete_ = totals[0] == totals[1];
  out.counts_.resize(schedule.steps_per_epoch());
  for (std::uint32_t b = 0; b < schedule.steps_per_epoch(); ++b) {
    out.counts_[b] = schedule.total_seeds(b);
  }
  return out;
}

Status LabelledSeeds::begin_epoch(std::uint32_t epoch, Collective& collective) {
  if (complete_) {
    return {};
  }
  const std::vector<NodeId> order = schedule_->epoch_order(epoch, collective.rank());
  for (std::uint32_t b = 0; b < counts_.size(); ++b) {
    const auto [begin, end] = schedule_->range(b, collective.rank());
    counts_[b] = static_cast<std::uint64_t>(std::ranges::count_if(
        std::span(order).subspan(begin, end - begin), [&](NodeId v) { return own_.has(v); }));
  }
  return collective.sum(std::span<std::uint64_t>(counts_));
}

std::uint64_t LabelledSeeds::of_group(std::uint32_t first, std::uint32_t count) const {
  const auto group = std::span(counts_).subspan(first, count);
  return std::accumulate(group.begin(), group.end(), std::uint64_t{0});
}

std::uint64_t LabelledSeeds::steps(const StepGroups& groups) const {
  std::uint64_t steps = 0;
  for (std::uint64_t s = 0; s < groups.steps_per_epoch(); ++s) {
    steps += of_group(groups.first_in_epoch(s), groups.size(s)) > 0 ? 1U : 0U;
  }
  return steps;
}

}  // namespace rudder::train
