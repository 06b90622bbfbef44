// SPDX-License-Identifier: Apache-2.0
// Which runs can be started again after a failure.
#pragma once

#include <string>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::cli {

/// Whether ranks stay where they are when a run is started again.
enum class Places : bool { kStay, kMayMove };

/// The command that goes on from the newest checkpoint of `command`: the same, with --resume. Its options are
/// read as the ranks will read them. An error (kInvalidArgument) when it could not go on: it is no `train` or
/// not a valid one, keeps no checkpoints, or writes or uses something that a second start does not go with.
[[nodiscard]] Result<std::vector<std::string>> resumed_command(const std::vector<std::string>& command,
                                                               Places places);

}  // namespace rudder::cli
