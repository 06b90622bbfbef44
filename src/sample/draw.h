// SPDX-License-Identifier: Apache-2.0
// The random streams of sampling: one key a batch, one a hop, one a node. Whoever draws for a node, the
// sampler or the node's owner, draws from the same stream.
#pragma once

#include <cstdint>
#include <limits>

#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

namespace rudder::sample {

/// `global_batch` as in Schedule.
[[nodiscard]] constexpr std::uint64_t batch_stream(std::uint64_t seed, std::uint32_t epoch,
                                                   std::uint64_t global_batch) noexcept {
  // Keeps the sampler's streams apart from other uses of the run's seed.
  constexpr std::uint64_t kDomain = 0x73616d706c657200;  // "sampler"
  return stream_key({kDomain, seed, epoch, global_batch});
}
/// `hop` counts from 0 at the seeds.
[[nodiscard]] constexpr std::uint64_t hop_stream(std::uint64_t batch_stream, std::uint64_t hop) noexcept {
  return stream_key({batch_stream, hop});
}
[[nodiscard]] constexpr CounterRng node_stream(std::uint64_t hop_stream, NodeId node) noexcept {
  return CounterRng(mix64(hop_stream ^ static_cast<std::uint64_t>(node)));
}

/// Neighbours taken at most: `fanout`, or all for -1.
[[nodiscard]] constexpr std::uint64_t limit_of(int fanout) noexcept {
  return fanout < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(fanout);
}

}  // namespace rudder::sample
