// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/estimate.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace rudder::sim {
namespace {

/// Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond, the normal distribution's.
double student_t(std::size_t freedom) {
  static constexpr std::array<double, 30> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                                    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                                    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                                    2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom <= kTable.size() ? kTable[freedom - 1] : 1.96;
}

}  // namespace

Estimate estimate(std::span<const double> values) {
  Estimate result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    result.mean += value / count;
  }
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) {
      squares += (value - result.mean) * (value - result.mean);
    }
    result.half_width = student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  }
  return result;
}

}  // namespace rudder::sim
