// SPDX-License-Identifier: Apache-2.0
#include "cache/future_uses.h"

#include <bit>
#include <utility>

#include "rudder/core/check.h"

namespace rudder::cache {
namespace {

constexpr std::size_t kInitialBatches = 16;
constexpr std::size_t kInitialUses = 1024;
/// Rows whose index bucket is brought towards the cache ahead of use.
constexpr std::size_t kPrefetchDistance = 16;

}  // namespace

FutureUses::FutureUses(std::uint32_t first_use)
    : starts_(kInitialBatches, first_use & kUseMask),
      next_use_(kInitialUses, kUnknown),
      last_use_(kInitialUses) {}

void FutureUses::make_room(std::size_t rows) {
  const std::size_t batches = end_ - begin_;
  if (batches + 2 > starts_.size()) {
    std::vector<std::uint32_t> larger(2 * starts_.size(), 0);
    for (Step step = begin_; step != end_ + 1; ++step) {
      larger[step & (larger.size() - 1)] = start(step);
    }
    starts_ = std::move(larger);
  }
  const std::uint32_t first = start(begin_);
  const std::size_t uses = distance(first, start(end_));
  RUDDER_CHECK(uses + rows < kUseMask, "the look-ahead window holds 2^31 rows");
  if (uses + rows > next_use_.size()) {
    std::vector<Step> larger(std::bit_ceil(uses + rows), kUnknown);
    for (std::uint32_t i = 0; i < uses; ++i) {
      larger[(first + i) & (larger.size() - 1)] = next_use_[(first + i) & (next_use_.size() - 1)];
    }
    next_use_ = std::move(larger);
  }
  if (last_use_.size() + rows > last_use_.capacity()) {
    last_use_.grow(2 * (last_use_.size() + rows));
  }
}

void FutureUses::add(std::span<const NodeId> rows) {
  make_room(rows.size());
  const std::uint32_t front = start(begin_);
  const std::size_t front_rows = front_size();
  const bool is_front = begin_ == end_;
  std::uint32_t use = start(end_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchDistance < rows.size()) {
      last_use_.prefetch(rows[i + kPrefetchDistance]);
    }
    next_use_[use & (next_use_.size() - 1)] = kUnknown;
    const SlotId before = last_use_.exchange(rows[i], use);
    if (before == kNoSlot) {
      first_uses_.push_back({rows[i], end_});
    } else {
      next_use_[before & (next_use_.size() - 1)] = end_;
      front_only_ -= distance(front, before) < front_rows ? 1U : 0U;
    }
    use = (use + 1) & kUseMask;
  }
  ++end_;
  starts_[end_ & (starts_.size() - 1)] = use;
  if (is_front) {
    front_only_ = rows.size();
  }
}

void FutureUses::pop(std::span<const NodeId> rows) {
  RUDDER_CHECK(begin_ != end_ && rows.size() == front_size(), "pop() of a batch that is not the oldest one");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchDistance < rows.size()) {
      last_use_.prefetch(rows[i + kPrefetchDistance]);
    }
    if (next_use(i) == kUnknown) {
      last_use_.erase(rows[i]);
    }
  }
  ++begin_;
  front_only_ = 0;
  const std::size_t front_rows = front_size();
  for (std::size_t i = 0; i < front_rows; ++i) {
    front_only_ += next_use(i) == kUnknown ? 1U : 0U;
  }
}

}  // namespace rudder::cache
