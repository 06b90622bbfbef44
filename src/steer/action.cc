// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/action.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include <fmt/format.h>

#include "rudder/core/sha256.h"

namespace rudder::steer {

bool operator==(const Setting& a, const Setting& b) noexcept {
  return a.policy == b.policy && a.replace == b.replace && a.lookahead == b.lookahead && a.depth == b.depth &&
         a.prefetch_bytes_per_second == b.prefetch_bytes_per_second && a.slot_share == b.slot_share;
}

std::size_t ActionSet::find(std::string_view action) const noexcept {
  const auto found =
      std::find_if(actions.begin(), actions.end(), [&](const Action& each) { return each.name == action; });
  return found == actions.end() ? kMaxActions : static_cast<std::size_t>(found - actions.begin());
}

std::size_t ActionSet::resting(std::size_t action) const {
  Setting setting = actions[action].setting;
  if (!setting.replace) {
    return action;
  }
  setting.replace = false;
  const auto found = std::find_if(actions.begin(), actions.end(),
                                  [&](const Action& each) { return each.setting == setting; });
  return found == actions.end() ? action : static_cast<std::size_t>(found - actions.begin());
}

std::string ActionSet::key() const {
  Sha256 digest;
  for (const Action& action : actions) {
    const Setting& setting = action.setting;
    const std::string line =
        fmt::format("{} {} {} {} {} {} {}\n", action.name, setting.policy, setting.replace, setting.lookahead,
                    setting.depth, setting.prefetch_bytes_per_second, setting.slot_share);
    digest.update(std::as_bytes(std::span(line)));
  }
  return fmt::format("{}-{}", name, digest.hex().substr(0, 12));
}

ActionSet replace_actions() {
  Setting skip;
  Setting replace;
  replace.replace = true;
  return {"replace",
          {{"skip", "leave the buffer as it is", skip},
           {"replace", "swap rows that were not used for long for those missed most", replace}},
          0,
          0};
}

}  // namespace rudder::steer
