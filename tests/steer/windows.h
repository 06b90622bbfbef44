// SPDX-License-Identifier: Apache-2.0
// Windows and action sets for tests of steering.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/window.h"

namespace rudder::steer::testing_support {

/// Two batches with round figures: 100 requests, `hits` of them hit, the misses fetched.
inline Window window_at(std::uint64_t sequence, std::uint64_t hits = 50) {
  Window window;
  window.sequence = sequence;
  window.first = 2 * sequence;
  window.end = 2 * sequence + 2;
  window.seconds = 10;
  window.compute_seconds = 8;
  window.all_reduce_seconds = 1.5;
  window.stall_seconds = 0.5;
  window.counts = {.requests = 100, .hits = hits, .fetched = 100 - hits, .bypassed = 0};
  return window;
}

inline LabelledWindow labelled_at(std::uint64_t sequence, std::vector<double> costs,
                                  std::uint64_t hits = 50) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < costs.size(); ++i) {
    best = costs[i] < costs[best] ? i : best;
  }
  return {window_at(sequence, hits), std::move(costs), best};
}

/// Actions "a", "b", ... that differ by depth; "a" is the fallback.
inline ActionSet letters(std::size_t count, std::uint32_t cool_down = 0) {
  ActionSet set;
  set.name = "letters";
  set.cool_down = cool_down;
  for (std::size_t i = 0; i < count; ++i) {
    Setting setting;
    setting.depth = static_cast<std::uint32_t>(i + 1);
    set.actions.push_back({std::string(1, static_cast<char>('a' + i)), "depth", setting});
  }
  return set;
}

/// Any bytes, short.
inline std::string random_bytes(CounterRng& rng, std::size_t limit) {
  std::string bytes(rng.below(limit + 1), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(rng.below(4) == 0 ? rng.below(256) : 32 + rng.below(95));
  }
  return bytes;
}

/// A window whose every field holds something that no run would: used to see that nothing breaks.
inline Window hostile_window(CounterRng& rng) {
  const auto number = [&] {
    constexpr double kNumbers[] = {
        0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};
    return kNumbers[rng.below(9)];
  };
  const auto count = [&]() -> std::uint64_t {
    constexpr std::uint64_t kCounts[] = {0, 1, 2, 1000, ~std::uint64_t{0}};
    return kCounts[rng.below(5)];
  };
  Window window;
  window.sequence = count();
  window.first = count();
  window.end = count();
  window.steps_total = count();
  window.action = static_cast<std::size_t>(count());
  window.seconds = number();
  window.compute_seconds = number();
  window.all_reduce_seconds = number();
  window.stall_seconds = number();
  window.ready = static_cast<std::uint32_t>(count());
  window.waiting = static_cast<std::uint32_t>(count());
  window.counts = {count(), count(), count(), count()};
  window.resident = count();
  window.stale = count();
  window.fresh = count();
  window.wire_bytes = count();
  window.link_bytes_per_second = number();
  window.owners = static_cast<std::uint32_t>(rng.below(100));
  window.self = static_cast<std::uint32_t>(rng.below(100));
  for (OwnerLoad& load : window.owner) {
    load = {count(), number(), count()};
  }
  return window;
}

}  // namespace rudder::steer::testing_support
