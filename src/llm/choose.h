// SPDX-License-Identifier: Apache-2.0
// The next token from a model's logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rudder::llm {

struct Draw {
  struct Choice {
    std::int32_t token = 0;
    double probability = 0;
  };
  std::int32_t token = 0;
  std::vector<Choice> best;  ///< most probable first, ties by number; the drawn one is the last if no other
  double log_sum = 0;        ///< ln of the sum of the exponentials
};

/// Logits of a vocabulary; what must not be drawn has -infinity.
///
/// Temperature 0 takes the largest, of equal ones the first. Otherwise the softmax at that temperature is
/// drawn from with the number `unit` of [0, 1). Probabilities are those at temperature 1. Nothing when no
/// logit is finite or one is NaN. O(logits).
[[nodiscard]] std::optional<Draw> draw_token(std::span<const float> logits, double temperature, double unit,
                                             std::size_t choices);

/// ln of the sum of exponentials; -infinity when there are none.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);

}  // namespace rudder::llm
