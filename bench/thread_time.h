// SPDX-License-Identifier: Apache-2.0
// Processor time of the calling thread: on a machine that others use too, what one core needs for the work.
#pragma once

#include <time.h>

namespace rudder::bench {

/// Seconds since some fixed point.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace rudder::bench
