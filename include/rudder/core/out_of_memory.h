// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rudder {

/// From now on, memory that runs out where nobody handles it ends the process as a signal does (see
/// core/interrupt.h): pending paths are removed, one line on standard error says so, the code is 1. On
/// whatever thread. Called in main().
void end_cleanly_without_memory();

}  // namespace rudder
