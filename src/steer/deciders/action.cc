// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

namespace rudder::steer {

DeciderInfo action_decider() {
  return {.name = "action",
          .argument = "NAME",
          .help = "one action of the set for ever",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            RUDDER_ASSIGN(const std::size_t action, needed_action(context, "action", context.argument));
            return constant_decider(action);
          }};
}

}  // namespace rudder::steer
