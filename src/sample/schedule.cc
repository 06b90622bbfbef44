// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "rudder/core/rng.h"

namespace rudder::sample {
namespace {

/// Keeps the permutations' streams apart from other uses of the run's seed.
constexpr std::uint64_t kScheduleDomain = 0x7363686564756c65;  // "schedule"

/// Node ids must not be negative and not repeat. O(n) for sorted ids, else O(n log n).
Status validate_ids(std::span<const NodeId> ids, std::size_t rank) {
  const auto unordered = [](NodeId a, NodeId b) { return a >= b; };
  std::vector<NodeId> sorted;
  if (std::adjacent_find(ids.begin(), ids.end(), unordered) != ids.end()) {
    sorted.assign(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    ids = sorted;
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice != ids.end()) {
      return Error{Errc::kInvalidData,
                   fmt::format("training nodes of rank {}: node {} is listed more than once", rank, *twice)};
    }
  }
  if (ids.front() < 0) {
    return Error{Errc::kInvalidData,
                 fmt::format("training nodes of rank {}: {} is not a node id", rank, ids.front())};
  }
  return {};
}

}  // namespace

Result<Schedule> Schedule::create(std::uint64_t seed, std::size_t batch,
                                  std::vector<std::span<const NodeId>> train) {
  if (batch == 0) {
    return Error{Errc::kInvalidArgument, "the batch size is 0; it must be at least 1"};
  }
  if (train.empty() || train.size() > std::numeric_limits<Rank>::max()) {
    return Error{Errc::kInvalidArgument, fmt::format("a schedule for {} ranks", train.size())};
  }
  std::size_t steps = 0;
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < train.size(); ++rank) {
    if (train[rank].empty()) {
      continue;
    }
    RUDDER_TRY(validate_ids(train[rank], rank));
    const std::size_t own = (train[rank].size() - 1) / batch + 1;
    if (own > steps) {
      steps = own;
      longest = rank;
    }
  }
  if (steps == 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("none of the {} ranks has training nodes", train.size())};
  }
  if (steps > std::numeric_limits<std::uint32_t>::max()) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{} training nodes of rank {} at batch size {} are more than 2^32 steps an epoch",
                    train[longest].size(), longest, batch)};
  }
  Schedule schedule;
  schedule.seed_ = seed;
  schedule.steps_ = static_cast<std::uint32_t>(steps);
  schedule.train_ = std::move(train);
  return schedule;
}

std::vector<NodeId> Schedule::epoch_order(std::uint32_t epoch, Rank rank) const {
  RUDDER_CHECK(rank < world(), "a rank beyond the schedule's world");
  std::vector<NodeId> order(train_[rank].begin(), train_[rank].end());
  CounterRng rng{kScheduleDomain, seed_, epoch, rank};
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[rng.below(left)]);
  }
  return order;
}

std::pair<std::size_t, std::size_t> Schedule::range(std::uint32_t batch, Rank rank) const noexcept {
  RUDDER_CHECK(rank < world() && batch < steps_, "a batch beyond the epoch or a rank beyond the world");
  const std::size_t shortest = train_[rank].size() / steps_;
  const std::size_t longer = train_[rank].size() % steps_;  // so many batches, the first ones, hold one more
  const std::size_t begin = batch * shortest + std::min<std::size_t>(batch, longer);
  return {begin, begin + shortest + (batch < longer ? 1 : 0)};
}

std::vector<NodeId> Schedule::seeds(BatchKey key) const {
  const std::vector<NodeId> order = epoch_order(key.epoch, key.rank);
  const auto [begin, end] = range(key.batch, key.rank);
  return {order.begin() + static_cast<std::ptrdiff_t>(begin),
          order.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::size_t Schedule::total_seeds(std::uint32_t batch) const noexcept {
  std::size_t total = 0;
  for (Rank rank = 0; rank < world(); ++rank) {
    const auto [begin, end] = range(batch, rank);
    total += end - begin;
  }
  return total;
}

}  // namespace rudder::sample
