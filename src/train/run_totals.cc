// SPDX-License-Identifier: Apache-2.0
#include "train/run_totals.h"

#include <algorithm>
#include <array>
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

}  // namespace

Result<metrics::StepTimes> longest_stall(Collective& collective, const metrics::StepTimes& mine) {
  RUDDER_ASSIGN(const std::vector<double> all,
                gather(collective, std::array{mine.compute, mine.all_reduce, mine.stall}));
  std::size_t worst = 0;
  for (std::size_t r = 3; r < all.size(); r += 3) {
    worst = all[r + 2] > all[worst + 2] ? r : worst;
  }
  return metrics::StepTimes{.compute = all[worst], .all_reduce = all[worst + 1], .stall = all[worst + 2]};
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
