// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rudder/cache/policy.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// Checks the score_* settings: period and stale_after at least 1, alpha within (0, 1), a known init mode.
/// The `score` policy requires settings that passed.
[[nodiscard]] Status check_score_settings(const PolicySettings& settings);

}  // namespace rudder::cache
