// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo always_decider() {
  return {.name = "always",
          .help = "replaces in every window (action set replace)",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            RUDDER_ASSIGN(const std::size_t replace, needed_action(context, "always", "replace"));
            return constant_decider(replace);
          }};
}

}  // namespace rudder::steer
