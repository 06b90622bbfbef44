// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::graph {

struct CaptureLimits {
  std::size_t bytes = std::size_t{2} << 30;
  Duration time = std::chrono::minutes(2);
};

/// Runs a program found on PATH (no shell; the C locale; no standard input) and returns what it wrote to
/// standard output. A missing program, an exit status other than 0, more output than the limit and a passed
/// deadline are errors; the program is killed for the last two. Its standard error is this process's.
[[nodiscard]] Result<std::string> capture_output(const std::vector<std::string>& command,
                                                 const CaptureLimits& limits);

}  // namespace rudder::graph
