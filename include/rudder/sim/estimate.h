// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace rudder::sim {

/// A mean and half the width of its 95 % interval.
struct Estimate {
  double mean = 0, half_width = 0;
};

/// Of independent values, by Student's t; the width is 0 for fewer than two.
[[nodiscard]] Estimate estimate(std::span<const double> values);

}  // namespace rudder::sim
