// SPDX-License-Identifier: Apache-2.0
// A buffer whose policy and size may change in the middle of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// What holds from one batch on.
struct Steer {
  std::string policy;            ///< one that adopts, when it changes
  SlotId slots = 0;              ///< in use, at most the context's capacity
  std::uint32_t lookahead = 64;  ///< as PolicySettings::max_lookahead
  bool replace = false;          ///< score: replaces stale rows with this batch

  friend bool operator==(const Steer& a, const Steer& b) = default;
};

/// Says what shall hold. Asked once before each batch that is served, in order, on the planner's thread: must
/// be quick. What it answered, with the step, is all that a replay needs to repeat a live run.
class Helm {
 public:
  Helm() = default;
  Helm(const Helm&) = delete;
  Helm& operator=(const Helm&) = delete;
  virtual ~Helm() = default;
  /// Nothing: what holds goes on.
  [[nodiscard]] virtual std::optional<Steer> before(StepId step) = 0;
};

/// Whether a run may begin with or change to what `steer` says: the policy exists, works live, and, when it
/// is not `from`'s, takes over a buffer.
[[nodiscard]] Status check_steer(const Steer& steer, const Steer& from, const PolicyContext& context);

/// A copy of a policy of make_steered() that asks another helm.
[[nodiscard]] std::unique_ptr<Policy> clone_steered(const Policy& steered, Helm* helm);

/// A policy that goes by `first` until the helm says otherwise. A new policy or size takes over the rows that
/// are there; rows in slots beyond a smaller size are dropped. The score policy replaces when told to, and by
/// its period when settings.score_period is not 0. `helm` outlives the policy and must not be null; a copy
/// asks the same one. Answers that check_steer() refuses are a programmer's error.
[[nodiscard]] std::unique_ptr<Policy> make_steered(const PolicyContext& context,
                                                   const PolicySettings& settings, const Steer& first,
                                                   Helm* helm);

}  // namespace rudder::cache
