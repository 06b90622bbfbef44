// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo rf_decider() {
  return {.name = "rf",
          .help = "a trained random forest",
          .needs_classifier = true,
          .make = [](const DeciderContext& context) { return classifier_decider(context, "rf"); }};
}

}  // namespace rudder::steer
