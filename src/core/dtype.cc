// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/dtype.h"

#include <array>
#include <utility>

namespace rudder {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Row, 13> kTypes = {{{"f32", 4},
                                         {"f16", 2},
                                         {"bf16", 2},
                                         {"f64", 8},
                                         {"i32", 4},
                                         {"i64", 8},
                                         {"u8", 1},
                                         {"i8", 1},
                                         {"i16", 2},
                                         {"u16", 2},
                                         {"u32", 4},
                                         {"u64", 8},
                                         {"bool", 1}}};

}  // namespace

std::size_t size_of(DType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].size;
}

std::string_view name_of(DType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

bool is_feature_type(DType type) noexcept {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

float f16_to_f32(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1F) {
    return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  }
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  // Subnormal: mantissa * 2^-24, exact in f32.
  const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t f32_to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U);
  }
  if (magnitude >= 0x477FF000U) {  // rounds to 65536 or more
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {  // below the smallest normal half: let the float adder round to 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

std::uint16_t f32_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace rudder
