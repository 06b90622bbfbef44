// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo never_decider() {
  return {.name = "never",
          .help = "leaves everything at the action set's fallback",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            return constant_decider(context.actions->fallback);
          }};
}

}  // namespace rudder::steer
