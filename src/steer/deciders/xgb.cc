// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo xgb_decider() {
  return {.name = "xgb",
          .help = "trained gradient-boosted trees",
          .needs_classifier = true,
          .make = [](const DeciderContext& context) { return classifier_decider(context, "xgb"); }};
}

}  // namespace rudder::steer
