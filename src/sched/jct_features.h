// SPDX-License-Identifier: Apache-2.0
// What a job's run time is predicted from.
#pragma once

#include <cstddef>
#include <vector>

#include "rudder/sched/simulator.h"

namespace rudder::sched {

inline constexpr std::size_t kFeatures = 15;

/// Row-major, kFeatures a job: GPUs, nodes, CPUs, memory, hashes of GPU type, user, queue and name without
/// digits, hour, weekday, then of the user (of the queue where there are no users) over jobs that had ended:
/// logarithm of the last run time, mean over the last five, mean over the last five with as many GPUs, share
/// that failed, and how many are known. O(n log n).
[[nodiscard]] std::vector<float> jct_features(const Trace& trace);

}  // namespace rudder::sched
