// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "rudder/core/clock.h"
#include "rudder/llm/model.h"

namespace rudder::llm {

/// When a call that begins now must have ended; no call may last for more than a day.
[[nodiscard]] inline TimePoint call_end(const ChatRequest& request, TimePoint now) {
  return now + std::clamp<Duration>(request.timeout, Duration::zero(), std::chrono::hours(24));
}

}  // namespace rudder::llm
