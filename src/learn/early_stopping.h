// SPDX-License-Identifier: Apache-2.0
// Training that ends when rows kept apart are no longer answered better.
#pragma once

#include <cstdint>

#include "rudder/core/result.h"

#include "learn/model_parts.h"
#include "learn/opencv_trainers.h"

namespace rudder::learn {

/// A sixth of the rows, drawn by what they hold, so that equal rows stay together and none is learned from
/// and looked up, says how many iterations are enough: of 10, 20, 40, ... the one before the error rises
/// twice in a row.
[[nodiscard]] Result<Network> train_network_until(const Prepared& input);
/// The same for the number of rounds of boosting, by the logarithmic loss weighted as the rows are.
[[nodiscard]] Result<Forest> train_boosted_until(const Prepared& input, std::uint64_t seed);

}  // namespace rudder::learn
