// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo svm_decider() {
  return {.name = "svm",
          .help = "a trained linear support vector machine",
          .needs_classifier = true,
          .make = [](const DeciderContext& context) { return classifier_decider(context, "svm"); }};
}

}  // namespace rudder::steer
