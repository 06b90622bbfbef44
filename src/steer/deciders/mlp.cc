// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo mlp_decider() {
  return {.name = "mlp",
          .help = "a trained neural network",
          .needs_classifier = true,
          .make = [](const DeciderContext& context) { return classifier_decider(context, "mlp"); }};
}

}  // namespace rudder::steer
