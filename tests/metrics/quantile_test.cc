// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/quantile.h"

#include <gtest/gtest.h>

namespace rudder::metrics {
namespace {

TEST(Quantile, IsTheValueOfTheNearestRank) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({7}, 0.95), 7);
  EXPECT_EQ(quantile({1, 2, 3, 4}, 0.95), 4);
}

}  // namespace
}  // namespace rudder::metrics
