// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rudder/core/result.h"

namespace rudder::cli {

/// From now on SIGTERM and SIGINT do not end the process but make this descriptor readable, for good. For
/// commands that serve until they are told to end. Once a process.
[[nodiscard]] Result<int> stop_on_signals();

}  // namespace rudder::cli
