// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace rudder::metrics {

/// The value below which that share of the values lies (the nearest rank). There is one at least.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace rudder::metrics
