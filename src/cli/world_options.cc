// SPDX-License-Identifier: Apache-2.0
#include "cli/world_options.h"

#include <fmt/format.h>

#include "rudder/steer/window.h"

#include "cli/run_options.h"

namespace rudder::cli {

WorldOptions::WorldOptions() {
  world_.conditions.compute_seconds = 0.010;
  world_.conditions.round_trip_seconds = 200e-6;
  world_.conditions.gradient_bytes = 20e3;
}

void WorldOptions::add_to(OptionTable& table) {
  table.text("buffer", "SIZES", buffers_, "Buffer sizes separated by commas: fractions of the halo or rows");
  table.integer<std::uint32_t>("window", world_.window, 1, steer::kMostWindow,
                               "Batches between two decisions");
  add_link_option(table, link_, link_rate_, "Rate of each host's link");
  table.real("compute", world_.conditions.compute_seconds, 0, 3600, "Seconds of compute a step");
  table.real("round-trip", world_.conditions.round_trip_seconds, 0, 60,
             "Seconds from a question to an owner to its answer");
  table.real("gradient-bytes", world_.conditions.gradient_bytes, 0, 1e12,
             "Averaged after each step over the same link");
  table.integer<std::uint32_t>("score-stale-after", world_.settings.score_stale_after, 1, 1'000'000,
                               "Batches without a hit until a slot is stale");
  table.real("score-alpha", world_.settings.score_alpha, 1e-6, 0.999, "Decay of scores a batch");
  table.choice("score-init", world_.settings.score_init, {"degree", "random", "empty"},
               "First contents of the buffer");
}

Result<sim::TraceWorld> WorldOptions::world() const {
  if (!(link_rate_ > 0)) {
    return Error{Errc::kInvalidArgument, "--link: simulated time needs a rate"};
  }
  sim::TraceWorld world = world_;
  world.conditions.link_bytes_per_second = link_rate_ / 8;
  return world;
}

Result<std::vector<cache::BufferSize>> WorldOptions::buffers() const {
  std::vector<cache::BufferSize> sizes;
  for (const std::string& text : split_list(buffers_)) {
    RUDDER_ASSIGN(const cache::BufferSize size, cache::parse_buffer_size(text));
    sizes.push_back(size);
  }
  return sizes;
}

std::string WorldOptions::text() const {
  return fmt::format("link {}, {} s of compute a step", link_, world_.conditions.compute_seconds);
}

Json WorldOptions::json() const {
  return {{"link_bytes_per_second", link_rate_ / 8},
          {"compute_seconds", world_.conditions.compute_seconds},
          {"round_trip_seconds", world_.conditions.round_trip_seconds},
          {"gradient_bytes", world_.conditions.gradient_bytes}};
}

}  // namespace rudder::cli
