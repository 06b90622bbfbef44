// SPDX-License-Identifier: Apache-2.0
// Runs of an active sampler in worlds that differ by graph, buffer and link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/graph/generators.h"
#include "rudder/sim/scenario.h"

namespace rudder::sim {

struct Drifting {
  std::string_view name;
  std::string_view generator = "chung-lu";
  graph::GeneratorOptions graph;
  double buffer = 0.1;  ///< of the halo
  double link_bytes_per_second = 4e6;
};
/// An active sampler whose schedule nobody knows: it stays with a wide set of nodes for a while, in which the
/// rows that all of them share are worth keeping for good, then works through narrow sets one after another.
[[nodiscard]] Result<Scenario> make_drifting(const Drifting& drifting, std::uint64_t seed);

/// What a world may differ by. Each has three values.
enum class Unlike : std::uint8_t { kNothing, kGraph, kBuffer, kLink };
/// The drifting run of a seed in a world that the seed draws: the same for all scenarios about what carries
/// over from other worlds.
[[nodiscard]] Result<Scenario> make_unlike(std::string_view name, std::uint64_t seed);
/// Four runs of other seeds to learn from: none in a world with that run's graph (buffer, link), or one of
/// them in the very same world.
[[nodiscard]] Result<std::vector<Scenario>> lessons_unlike(std::string_view name, Unlike by,
                                                           std::uint64_t seed);

}  // namespace rudder::sim
