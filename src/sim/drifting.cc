// SPDX-License-Identifier: Apache-2.0
#include "sim/drifting.h"

#include <array>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"

#include "sim/scenario_world.h"

namespace rudder::sim {
namespace {

constexpr std::uint32_t kPhases = 4;
constexpr std::uint32_t kPhaseSteps = 320;
constexpr std::size_t kSeeds = 16;           // a batch
constexpr NodeId kWide = 512, kNarrow = 16;  // nodes that seeds come from in even and odd phases
constexpr std::uint32_t kMoveEvery = 96;     // steps, in odd phases

constexpr std::size_t kValues = 3;
constexpr std::size_t kLessons = 4;
/// Positions of a world's graph, buffer and link among their values.
using Place = std::array<std::size_t, 3>;

Place place_of(std::uint64_t seed) {
  // Runs through all graphs first; the others move on unevenly, so that few seeds meet many worlds.
  return {seed % kValues, (seed + seed / kValues) % kValues, (2 * seed + seed / kValues) % kValues};
}

Drifting world_at(std::string_view name, const Place& place, std::uint64_t seed) {
  constexpr std::array<std::string_view, kValues> kGenerators = {"chung-lu", "planted", "rmat"};
  constexpr std::array<double, kValues> kBuffers = {0.05, 0.1, 0.2};
  constexpr std::array<double, kValues> kLinks = {2e6, 4e6, 8e6};
  Drifting drifting{.name = name,
                    .generator = kGenerators[place[0]],
                    .graph = skewed_graph(seed, 2.2),
                    .buffer = kBuffers[place[1]],
                    .link_bytes_per_second = kLinks[place[2]]};
  drifting.graph.scale = 14;  // as many nodes as the others have
  return drifting;
}

bool may_teach(const Place& place, const Place& run, Unlike by) {
  return by == Unlike::kNothing ||
         place[static_cast<std::size_t>(by) - 1] != run[static_cast<std::size_t>(by) - 1];
}

}  // namespace

Result<Scenario> make_drifting(const Drifting& drifting, std::uint64_t seed) {
  RUDDER_ASSIGN(const ScenarioWorld world, ScenarioWorld::create(drifting.generator, drifting.graph, 4));
  Scenario scenario;
  scenario.name = drifting.name;
  scenario.seed = seed;
  scenario.actions = steer::replace_actions();
  scenario.settings.score_stale_after = 4;
  world.describe(scenario);
  scenario.capacity =
      narrow<SlotId>(static_cast<std::uint64_t>(drifting.buffer * static_cast<double>(scenario.halo.size())));
  std::uint32_t number = 0;
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    const bool moving = phase % 2 == 1;
    add_phase(scenario, moving ? "moving" : "staying");
    for (std::uint32_t step = 0; step < kPhaseSteps; ++step, ++number) {
      const NodeId width = moving ? kNarrow : kWide;
      const NodeId place = moving ? static_cast<NodeId>(number / kMoveEvery) * kNarrow : phase * 4 * kWide;
      const NodeId first = place % (world.own() - width);
      add_step(
          scenario,
          world.remote_rows(draw_seeds(first, first + width, kSeeds, seed, number), {10, 5}, seed, number),
          usual_conditions(drifting.link_bytes_per_second));
    }
  }
  return scenario;
}

Result<Scenario> make_unlike(std::string_view name, std::uint64_t seed) {
  return make_drifting(world_at(name, place_of(seed), seed), seed);
}

Result<std::vector<Scenario>> lessons_unlike(std::string_view name, Unlike by, std::uint64_t seed) {
  const Place run = place_of(seed);
  CounterRng rng({seed, 0x6c65'7373'6f6e});
  std::vector<Scenario> lessons;
  while (lessons.size() < kLessons) {
    Place place{};
    for (std::size_t& value : place) {
      value = rng.below(kValues);
    }
    if (by == Unlike::kNothing && lessons.empty()) {
      place = run;
    }
    if (may_teach(place, run, by)) {
      const std::uint64_t other = 1'000'000 + kLessons * seed + lessons.size();
      RUDDER_ASSIGN(Scenario lesson, make_drifting(world_at(name, place, other), other));
      lessons.push_back(std::move(lesson));
    }
  }
  return lessons;
}

}  // namespace rudder::sim
