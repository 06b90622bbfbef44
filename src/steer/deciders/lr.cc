// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo lr_decider() {
  return {.name = "lr",
          .help = "a trained logistic regression",
          .needs_classifier = true,
          .make = [](const DeciderContext& context) { return classifier_decider(context, "lr"); }};
}

}  // namespace rudder::steer
