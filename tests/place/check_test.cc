// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::place {
namespace {

using testing::HasSubstr;

const std::vector<std::int32_t> kCells = {0, 0, 1,  //
                                          0, 1, 2};
const std::vector<std::int32_t> kCapacities = {3, 2, 1};

TEST(CheckCells, MeasuresByBothMetrics) {
  const CheckedCells count = check_cells(2, 3, kCells, kCapacities, 0.25).value();
  EXPECT_EQ(count.S, 3);
  EXPECT_EQ(count.Q, 2);
  EXPECT_DOUBLE_EQ(count.J, 0.25 * 2 + 0.75 * 3);
  EXPECT_DOUBLE_EQ(count.mean_S, 2.5);
  EXPECT_DOUBLE_EQ(count.mean_Q, 5.0 / 3);
  EXPECT_EQ(count.cuts, 3);
  EXPECT_EQ(count.minipods, 3);
  EXPECT_EQ(count.worst_row, 1);
  EXPECT_EQ(count.worst_column, 1);
  const CheckedCells ring = check_cells(2, 3, kCells, kCapacities, 0.25, Metric::kRing).value();
  EXPECT_EQ(ring.S, 3);
  EXPECT_DOUBLE_EQ(ring.mean_Q, 4.0 / 3);
}

TEST(CheckCells, NamesWhatIsWrong) {
  EXPECT_THAT(check_cells(2, 2, kCells, kCapacities, 0.5).error().message, HasSubstr("6 cells"));
  EXPECT_THAT(check_cells(2, 3, kCells, std::vector<std::int32_t>{3, 1, 1}, 0.5).error().message,
              HasSubstr("minipod 1 serves 2"));
  EXPECT_THAT(check_cells(2, 3, kCells, std::vector<std::int32_t>{3, 2}, 0.5).error().message,
              HasSubstr("cell (1, 2)"));
}

TEST(CheckInjective, NamesTheHostAndBothCells) {
  EXPECT_TRUE(check_injective(2, std::vector<std::string>{"a", "b", "c", "d"}).ok());
  EXPECT_THAT(check_injective(2, std::vector<std::string>{"a", "b", "c", "b"}).error().message,
              testing::AllOf(HasSubstr("host b"), HasSubstr("(0, 1)"), HasSubstr("(1, 1)")));
}

}  // namespace
}  // namespace rudder::place
