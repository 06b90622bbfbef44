// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/buffer_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::cache {
namespace {

SlotId slots(std::string_view text, std::size_t halo) {
  return parse_buffer_size(text).value().slots(halo);
}

TEST(BufferSize, WithAPointIsAFractionOfTheHalo) {
  EXPECT_EQ(slots("0.25", 1000), 250U);
  EXPECT_EQ(slots("1.0", 1000), 1000U);
  EXPECT_EQ(slots(".5", 1000), 500U);
  EXPECT_EQ(slots("0.0", 1000), 0U);
  EXPECT_EQ(slots("0.29", 100), 29U) << "0.29 x 100 lies below 29 in binary";
  EXPECT_EQ(slots("0.25", 0), 0U);
}

TEST(BufferSize, WithoutOneIsANumberOfRows) {
  EXPECT_EQ(slots("4000", 10), 4000U);
  EXPECT_EQ(slots("0", 10), 0U);
  EXPECT_EQ(slots("1", 1000), 1U);
  EXPECT_EQ(slots("2147483648", 1), 2147483648U);
  EXPECT_EQ(parse_buffer_size("4000").value().text, "4000");
}

TEST(BufferSize, OtherTextIsAnErrorThatQuotesIt) {
  for (const char* text : {"", " 1", "1 ", "-3", "+3", "-0.5", "1e9", "1e-1", "0.1e1", "nan", "inf", "0.5x",
                           "x", ".", "1.", "0..5", "0,5", "0x10", "5%"}) {
    const Result<BufferSize> size = parse_buffer_size(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(size.error().message, ::testing::HasSubstr(std::string("'").append(text).append("'")));
    EXPECT_THAT(size.error().message, ::testing::HasSubstr("fraction of the halo with a point"));
  }
}

TEST(BufferSize, FractionsAboveOneAndHugeRowCountsAreErrors) {
  for (const char* text : {"1.5", "1.0001", "4000.0"}) {
    EXPECT_THAT(parse_buffer_size(text).error().message, ::testing::HasSubstr("at most 1.0")) << text;
  }
  for (const char* text : {"2147483649", "99999999999999999999999"}) {
    EXPECT_THAT(parse_buffer_size(text).error().message, ::testing::HasSubstr("more than 2147483648 rows"))
        << text;
  }
}

}  // namespace
}  // namespace rudder::cache
