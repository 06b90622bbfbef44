// SPDX-License-Identifier: Apache-2.0
#include "train/run_totals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include "rudder/core/sha256.h"

namespace rudder::train {
namespace {

/// Everybody's `mine`, in rank order.
template <class Number, std::size_t Count>
Result<std::vector<Number>> gather(Collective& collective, const std::array<Number, Count>& mine) {
  std::vector<Number> all(std::size_t{collective.world()} * Count);
  std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(Count * collective.rank()));
  RUDDER_TRY(collective.sum(std::span<Number>(all)));
  return all;
}

Result<metrics::StepTimes> longest_stall(Collective& collective, const metrics::StepTimes& mine) {
  RUDDER_ASSIGN(const std::vector<double> all,
                gather(collective, std::array{mine.compute, mine.all_reduce, mine.stall}));
  std::size_t worst = 0;
  for (std::size_t r = 3; r < all.size(); r += 3) {
    worst = all[r + 2] > all[worst + 2] ? r : worst;
  }
  return metrics::StepTimes{.compute = all[worst], .all_reduce = all[worst + 1], .stall = all[worst + 2]};
}

}  // namespace

Result<EpochResult> sum_epoch(Collective& collective, const StepSums& mine) {
  std::array totals = {mine.counts.requests,     mine.counts.hits,      mine.counts.fetched,
                       mine.moved.payload_bytes, mine.moved.wire_bytes, mine.moved.messages,
                       mine.asked.nodes,         mine.asked.bytes,      mine.asked.messages};
  RUDDER_TRY(collective.sum(std::span<std::uint64_t>(totals)));
  RUDDER_ASSIGN(const metrics::StepTimes times, longest_stall(collective, mine.times));
  return EpochResult{.seconds = times.total(),
                     .compute_seconds = times.compute,
                     .all_reduce_seconds = times.all_reduce,
                     .stall_seconds = times.stall,
                     .requests = totals[0],
                     .hits = totals[1],
                     .fetched = totals[2],
                     .payload_bytes = totals[3],
                     .wire_bytes = totals[4],
                     .messages = totals[5],
                     .sampling_nodes = totals[6],
                     .sampling_bytes = totals[7],
                     .sampling_messages = totals[8]};
}

Result<WireError> sum_wire_error(Collective& collective, const NarrowingError& mine) {
  RUDDER_ASSIGN(const std::vector<double> all,
                gather(collective, std::array<double, 4>{static_cast<double>(mine.largest_absolute),
                                                         static_cast<double>(mine.largest_relative),
                                                         mine.squares, static_cast<double>(mine.values)}));
  WireError error;
  double squares = 0;
  double values = 0;
  for (std::size_t r = 0; r < all.size(); r += 4) {
    error.largest_absolute = std::max(error.largest_absolute, all[r]);
    error.largest_relative = std::max(error.largest_relative, all[r + 1]);
    squares += all[r + 2];
    values += all[r + 3];
  }
  error.root_mean_square = values == 0 ? 0 : std::sqrt(squares / values);
  return error;
}

Result<std::vector<RankCounts>> gather_counts(Collective& collective, const cache::Counts& mine) {
  RUDDER_ASSIGN(const std::vector<std::uint64_t> all,
                gather(collective, std::array{mine.requests, mine.hits, mine.fetched, mine.bypassed}));
  std::vector<RankCounts> ranks;
  for (std::size_t r = 0; r < all.size(); r += 4) {
    ranks.push_back({.requests = all[r], .hits = all[r + 1], .fetched = all[r + 2], .bypassed = all[r + 3]});
  }
  return ranks;
}

Result<std::string> compare_replicas(Collective& collective, std::span<const float> parameters) {
  Sha256 sha;
  sha.update(std::as_bytes(parameters));
  const Sha256::Digest digest = sha.digest();
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    bits = bits << 8 | digest[i];
  }
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 56) - 1;
  std::array<std::uint64_t, 2> ends = {bits, ~bits & kMask};
  RUDDER_TRY(collective.max(ends));
  if (ends[0] != bits || ends[1] != (~bits & kMask)) {
    return Error{Errc::kInternal,
                 fmt::format("rank {}: the ranks' models differ after training", collective.rank())};
  }
  return sha.hex();
}

}  // namespace rudder::train
