// SPDX-License-Identifier: Apache-2.0
#include "llm/wait_for.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <poll.h>

namespace rudder::llm {

Wait wait_for(int fd, short events, TimePoint until, int stop) {
  constexpr std::int64_t kLongest = 60'000;  // milliseconds of one poll()
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock().now()).count();
    std::array<pollfd, 2> wanted = {{{fd, events, 0}, {stop, POLLIN, 0}}};
    const int ready =
        ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongest)));
    if (ready > 0) {
      return wanted[1].revents != 0 ? Wait::kStopped : Wait::kReady;
    }
    if (left <= 0) {
      return Wait::kDeadline;
    }
  }
}

}  // namespace rudder::llm
