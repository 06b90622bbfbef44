// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rudder::sched {

/// The page with a mark where the data goes.
[[nodiscard]] const char* gantt_template();

}  // namespace rudder::sched
