// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "cache/bounded_min.h"

namespace rudder::cache {

PolicyInfo min_policy() {
  return {.name = "min",
          .help = "Belady's optimum: lookahead that knows the whole run (replay only)",
          .live = false,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
            return make_bounded_min(context, kAll, kAll);
          }};
}

}  // namespace rudder::cache
