// SPDX-License-Identifier: Apache-2.0
// XGBoost's C interface, as far as training needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::learn {

struct BoosterInput {
  std::span<const float> rows;  ///< row-major
  std::size_t columns = 0;
  std::span<const float> labels;        ///< one a row
  std::span<const float> weights = {};  ///< one a row; empty: all alike
};

/// Trains `rounds` rounds with the given parameters and gives the model in XGBoost's JSON form. kInternal
/// with the library's message when it refuses.
[[nodiscard]] Result<std::string> boost(const BoosterInput& input,
                                        std::span<const std::pair<std::string, std::string>> parameters,
                                        std::int32_t rounds);

/// The library's own raw predictions of such a model on the rows (for tests of our evaluation).
[[nodiscard]] Result<std::vector<float>> predict_with_library(const std::string& model,
                                                              const BoosterInput& input);

}  // namespace rudder::learn
