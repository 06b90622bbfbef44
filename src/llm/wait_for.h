// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "rudder/core/clock.h"

namespace rudder::llm {

enum class Wait : std::uint8_t { kReady, kDeadline, kStopped };

/// Waits until `fd` has one of the poll() `events` (or an error), until then, or until `stop` (a descriptor)
/// becomes readable, whichever comes first. -1 in place of a descriptor: not waited for.
[[nodiscard]] Wait wait_for(int fd, short events, TimePoint until, int stop);

}  // namespace rudder::llm
