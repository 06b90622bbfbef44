// SPDX-License-Identifier: Apache-2.0
// Action sets for tests of what models are told and answer.
#pragma once

#include "rudder/steer/action.h"

namespace rudder::steer::testing_support {

/// Four settings whose names begin alike: depth2-fullrate, depth2-rate500k, depth16-fullrate,
/// depth16-rate500k.
inline ActionSet knobs() {
  return knob_actions({{"lookahead"}, {2, 16}, {0, 5e5}, {1}}).value();
}

}  // namespace rudder::steer::testing_support
