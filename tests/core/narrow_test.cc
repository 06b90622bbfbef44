// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/narrow.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder {
namespace {

std::uint16_t half_at(const std::vector<std::byte>& bytes, std::size_t i) {
  std::uint16_t half = 0;
  std::memcpy(&half, bytes.data() + 2 * i, 2);
  return half;
}

/// The value of a half, digit by digit as IEEE 754 and bfloat16 define them.
double literal(DType type, unsigned half) {
  const int mantissa_bits = type == DType::kF16 ? 10 : 7;
  const int bias = type == DType::kF16 ? 15 : 127;
  const int exponent = static_cast<int>(half & 0x7FFFU) >> mantissa_bits;
  const double mantissa = static_cast<double>(half & ((1U << mantissa_bits) - 1)) / (1 << mantissa_bits);
  const int top = type == DType::kF16 ? 31 : 255;
  const double sign = (half & 0x8000U) != 0 ? -1 : 1;
  if (exponent == top) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias)
                       : sign * std::ldexp(1 + mantissa, exponent - bias);
}

class Narrow : public testing::TestWithParam<DType> {};

TEST_P(Narrow, WidensEveryPatternToItsValueAndNarrowsItBack) {
  const DType type = GetParam();
  std::vector<std::byte> halves(2 * 65536);
  for (unsigned half = 0; half < 65536; ++half) {
    const auto raw = static_cast<std::uint16_t>(half);
    std::memcpy(halves.data() + 2 * half, &raw, 2);
  }
  std::vector<float> wide(65536);
  widen_to_f32(type, halves.data(), wide.size(), wide.data());
  for (unsigned half = 0; half < 65536; ++half) {
    const double value = literal(type, half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(wide[half])) << half;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide[half]), value) << half;
    ASSERT_EQ(std::signbit(wide[half]), half >= 0x8000) << half;
    std::vector<std::byte> back(2);
    NarrowingError error;
    ASSERT_EQ(narrow_f32(type, &wide[half], 1, back.data(), error), std::isfinite(value)) << half;
    ASSERT_EQ(half_at(back, 0), half);
    if (std::isfinite(value)) {
      ASSERT_EQ(error.largest_absolute, 0) << half;
    }
  }
}

/// Floats of all exponents with random mantissas, and every tie and its neighbours around random halves.
std::vector<float> trying_values(DType type) {
  std::vector<float> values;
  CounterRng rng({8});
  for (int i = 0; i < 40000; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng())));
  }
  for (int i = 0; i < 40000; ++i) {
    const auto half = static_cast<std::uint16_t>(rng.below(65536));
    const std::uint32_t wide =
        std::bit_cast<std::uint32_t>(type == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half));
    const std::uint32_t tie = wide | (type == DType::kF16 ? 0x1000U : 0x8000U);
    for (const std::uint32_t near : {tie - 1, tie, tie + 1}) {
      values.push_back(std::bit_cast<float>(near));
    }
  }
  return values;
}

TEST_P(Narrow, RoundsToTheNearestHalfAndTiesToEven) {
  const DType type = GetParam();
  const std::vector<float> values = trying_values(type);
  std::vector<std::byte> halves(2 * values.size());
  NarrowingError error;
  static_cast<void>(narrow_f32(type, values.data(), values.size(), halves.data(), error));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = half_at(halves, i);
    ASSERT_EQ(half, type == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i])) << values[i];
    const double got = literal(type, half);
    if (!std::isfinite(values[i]) || !std::isfinite(got)) {
      continue;
    }
    const double off = std::abs(got - static_cast<double>(values[i]));
    for (const int step : {-1, 1}) {
      const unsigned magnitude = half & 0x7FFFU;
      if (step < 0 && magnitude == 0) {
        continue;
      }
      const double other = literal(type, (half & 0x8000U) | (magnitude + static_cast<unsigned>(step)));
      const double other_off = std::abs(other - static_cast<double>(values[i]));
      ASSERT_TRUE(off < other_off || (off == other_off && half % 2 == 0)) << values[i];
    }
  }
}

TEST_P(Narrow, MeasuresItsError) {
  const DType type = GetParam();
  CounterRng rng({5});
  for (const std::size_t count : {1U, 3U, 15U, 16U, 17U, 100U}) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(rng.unit() * 8 - 4);
    }
    values[0] = 0;
    std::vector<std::byte> halves(2 * count);
    NarrowingError error;
    ASSERT_TRUE(narrow_f32(type, values.data(), count, halves.data(), error));
    double absolute = 0;
    double relative = 0;
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double off = std::abs(literal(type, half_at(halves, i)) - static_cast<double>(values[i]));
      absolute = std::max(absolute, off);
      relative = std::max(relative, values[i] == 0 ? 0 : off / std::abs(static_cast<double>(values[i])));
      squares += off * off;
    }
    EXPECT_EQ(error.values, count);
    EXPECT_DOUBLE_EQ(error.largest_absolute, absolute);
    EXPECT_NEAR(error.largest_relative, relative, 1e-6 * relative);
    EXPECT_NEAR(error.squares, squares, 1e-12 * squares);
    EXPECT_NEAR(error.root_mean_square(), std::sqrt(squares / static_cast<double>(count)), 1e-12);
    NarrowingError twice = error;
    twice += error;
    EXPECT_EQ(twice.values, 2 * count);
    EXPECT_EQ(twice.largest_absolute, error.largest_absolute);
  }
}

TEST_P(Narrow, RowsAreGatheredNarrowAndWidenedAgain) {
  const DType type = GetParam();
  for (const std::size_t columns : {1U, 7U, 16U, 100U}) {
    std::vector<float> table(50 * columns);
    CounterRng rng({columns});
    for (float& value : table) {
      value = static_cast<float>(rng.unit());
    }
    const std::vector<NodeId> rows = {3, 4, 49, 0, 3, 17};
    std::vector<std::byte> narrowed(rows.size() * columns * 2);
    NarrowingError error;
    ASSERT_EQ(gather_narrowed(table, columns, rows, type, narrowed.data(), error), std::nullopt);
    EXPECT_EQ(error.values, rows.size() * columns);
    // Every other row comes from the table itself.
    std::vector<const std::byte*> sources;
    std::vector<std::uint8_t> narrow;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      narrow.push_back(i % 2 != 0 ? 1 : 0);
      sources.push_back(i % 2 != 0 ? narrowed.data() + i * columns * 2
                                   : reinterpret_cast<const std::byte*>(
                                         table.data() + static_cast<std::size_t>(rows[i]) * columns));
    }
    std::vector<float> out(rows.size() * columns);
    gather_widened(sources, narrow, type, columns, out.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t c = 0; c < columns; ++c) {
        const float value = table[static_cast<std::size_t>(rows[i]) * columns + c];
        const float halved =
            type == DType::kF16 ? f16_to_f32(f32_to_f16(value)) : bf16_to_f32(f32_to_bf16(value));
        ASSERT_EQ(out[i * columns + c], i % 2 != 0 ? halved : value);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Narrow, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& of) { return std::string(name_of(of.param)); });

TEST(NarrowRows, NameTheFirstRowThatDoesNotFit) {
  std::vector<float> table = {1, 2, 65519, -65519, 3, 65520, 1e30F, 4};
  std::vector<std::byte> out(8 * 2);
  NarrowingError error;
  EXPECT_EQ(gather_narrowed(table, 2, std::vector<NodeId>{0, 1}, DType::kF16, out.data(), error),
            std::nullopt);
  EXPECT_EQ(gather_narrowed(table, 2, std::vector<NodeId>{1, 3, 2}, DType::kF16, out.data(), error), 1U);
  EXPECT_EQ(gather_narrowed(table, 2, std::vector<NodeId>{3, 2}, DType::kBF16, out.data(), error),
            std::nullopt);
  table[7] = std::numeric_limits<float>::max();  // rounds up
  EXPECT_EQ(gather_narrowed(table, 2, std::vector<NodeId>{2, 3}, DType::kBF16, out.data(), error), 1U);
  table[7] = std::nanf("");
  EXPECT_EQ(gather_narrowed(table, 2, std::vector<NodeId>{3}, DType::kBF16, out.data(), error), 0U);
}

}  // namespace
}  // namespace rudder
