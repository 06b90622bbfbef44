// SPDX-License-Identifier: Apache-2.0
// OpenCV's ml module, as far as training needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/result.h"

#include "learn/model_parts.h"

namespace rudder::learn {

/// Standardised rows with labels 0..classes-1, each of which occurs.
struct Prepared {
  std::vector<float> rows;
  std::size_t columns = 0;
  std::vector<std::int32_t> labels;
  std::vector<float> weights;  ///< for those who take them
  std::uint32_t classes = 0;
};

/// What a network is trained to answer for the right class; its negative for the others.
inline constexpr double kNetworkTarget = 0.9;

/// All train on one thread of the library, one call at a time in a process (its number of threads and its
/// random numbers are global), in an order that only `input` says. `library`, when not null, receives the
/// library's own answers on the rows, for tests of our evaluation: scores row by row in the layout of the
/// result's (forests: the class).
[[nodiscard]] Result<Linear> train_logistic(const Prepared& input, std::vector<double>* library = nullptr);
[[nodiscard]] Result<Linear> train_linear_svm(const Prepared& input, std::vector<double>* library = nullptr);
[[nodiscard]] Result<Network> train_network(const Prepared& input, int iterations,
                                            std::vector<double>* library = nullptr);
[[nodiscard]] Result<Forest> train_random_forest(const Prepared& input,
                                                 std::vector<double>* library = nullptr);

}  // namespace rudder::learn
