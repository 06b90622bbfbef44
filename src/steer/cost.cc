// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/cost.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "rudder/core/check.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMostDepth = 1024;

double slowest_owner(const Conditions& conditions, const Moved& moved) {
  double slowest = 0;
  const std::size_t owners = std::min(moved.rows.size(), conditions.owner_bytes_per_second.size());
  for (std::size_t owner = 0; owner < owners; ++owner) {
    slowest = std::max(slowest, static_cast<double>(moved.rows[owner]) * conditions.row_bytes /
                                    conditions.owner_bytes_per_second[owner]);
  }
  return slowest;
}

}  // namespace

std::uint64_t Moved::total() const noexcept {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

/// When `bytes` that begin to move at `from` have moved.
double StepClock::moved_by(double from, double bytes, double link, double limit) const {
  const double shared = std::min(limit, link / 2);
  for (const Busy& busy : reduces_) {
    if (busy.to <= from) {
      continue;
    }
    const double alone = std::max(0.0, busy.from - from);
    if (bytes <= alone * limit) {
      break;
    }
    bytes -= alone * limit;
    from = std::max(from, busy.from);
    const double together = busy.to - from;
    if (bytes <= together * shared) {
      return from + bytes / shared;
    }
    bytes -= together * shared;
    from = busy.to;
  }
  return from + bytes / limit;
}

StepCost StepClock::step(const Conditions& conditions, const Moved& moved, const Setting& setting) {
  const double link = conditions.link_bytes_per_second;
  RUDDER_CHECK(link > 0, "a link that moves nothing");
  const double limit =
      setting.prefetch_bytes_per_second > 0 ? std::min(link, setting.prefetch_bytes_per_second) : link;
  const std::size_t depth = std::clamp<std::size_t>(setting.depth, 1, kMostDepth);
  const double allowed = begins_.size() < depth ? 0 : begins_[begins_.size() - depth];
  const double fetch_begin = std::max(fetch_end_, allowed);
  double fetch_end = fetch_begin;
  if (moved.total() > 0) {
    const double answered = fetch_begin + conditions.round_trip_seconds;
    const double bytes = static_cast<double>(moved.total()) * conditions.row_bytes;
    fetch_end = std::max(moved_by(answered, bytes, link, limit), answered + slowest_owner(conditions, moved));
  }
  StepCost cost;
  cost.fetch_seconds = fetch_end - fetch_begin;
  const double begin = std::max(step_end_, fetch_end);
  cost.stall_seconds = begin - step_end_;
  cost.compute_seconds = conditions.compute_seconds;
  if (conditions.gradient_bytes > 0) {
    const double alone = conditions.gradient_bytes / link;
    const double period = std::max(conditions.compute_seconds + alone, cost.fetch_seconds);
    const double disturbed = cost.fetch_seconds / period;
    const double share = std::max(link / 2, link - limit);
    cost.all_reduce_seconds = conditions.gradient_bytes / (disturbed * share + (1 - disturbed) * link);
  }
  const double computed = begin + cost.compute_seconds;
  cost.seconds = cost.stall_seconds + cost.compute_seconds + cost.all_reduce_seconds;
  step_end_ = computed + cost.all_reduce_seconds;
  fetch_end_ = fetch_end;
  begins_.push_back(begin);
  if (begins_.size() > kMostDepth) {
    begins_.pop_front();
  }
  if (cost.all_reduce_seconds > 0) {
    reduces_.push_back({computed, step_end_});
  }
  while (!reduces_.empty() && reduces_.front().to <= fetch_end_) {
    reduces_.pop_front();
  }
  return cost;
}

}  // namespace rudder::steer
