// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/quantile.h"

#include <algorithm>
#include <cstddef>

#include "rudder/core/check.h"

namespace rudder::metrics {

double quantile(std::vector<double> values, double share) {
  RUDDER_CHECK(!values.empty(), "a quantile of nothing");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace rudder::metrics
