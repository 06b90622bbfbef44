// SPDX-License-Identifier: Apache-2.0
// Pearson's test of uniformity.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rudder::test {

/// How many standard deviations the counts are from uniform: far above 0 is not uniform, far below is too
/// even to be random. By Wilson and Hilferty's cube-root approximation; expected counts should be at least 5.
///
/// `draws` times `per_draw` distinct cells were counted out of counts.size(). Distinct cells are negatively
/// correlated, with covariance draws p (1-p) n/(n-1) (I - J/n), p = per_draw / n, hence the factor
/// (n-1)/(n-per_draw).
inline double uniformity_z(std::span<const std::uint64_t> counts, std::uint64_t draws,
                           std::uint64_t per_draw) {
  const double cells = static_cast<double>(counts.size());
  const double expected = static_cast<double>(draws) * static_cast<double>(per_draw) / cells;
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    sum += difference * difference / expected;
  }
  const double freedom = cells - 1;
  const double chi_square = sum * freedom / (cells - static_cast<double>(per_draw));
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace rudder::test
