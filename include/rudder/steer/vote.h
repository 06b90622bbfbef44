// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

struct Vote {
  std::size_t action = 0;
  double confidence = 0;  ///< share of the weight of windows whose best action it is; 0: nobody voted
};
/// Of remembered windows about one with these features: an action's price is the mean of what it cost in them
/// above their least cost, relative to that, weighted by similarity; the least price wins, the fallback among
/// equals and where no window has any weight.
[[nodiscard]] Vote vote_of(std::span<const Experience> near, const Features& features,
                           const ActionSet& actions);

}  // namespace rudder::steer
