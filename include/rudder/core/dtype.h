// SPDX-License-Identifier: Apache-2.0
// Element types of arrays in files, on the wire and in memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rudder {

enum class DType : std::uint8_t {
  kF32 = 0,
  kF16 = 1,
  kBF16 = 2,
  kF64 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kI8 = 7,
  kI16 = 8,
  kU16 = 9,
  kU32 = 10,
  kU64 = 11,
  kBool = 12
};

[[nodiscard]] std::size_t size_of(DType type) noexcept;
/// "f32", "f16", "bf16", "f64", "i32", … as written in `graph.json`.
[[nodiscard]] std::string_view name_of(DType type) noexcept;
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name) noexcept;
/// True for the types a feature array may have (f32, f16, bf16).
[[nodiscard]] bool is_feature_type(DType type) noexcept;

[[nodiscard]] float f16_to_f32(std::uint16_t half) noexcept;
/// Round to nearest, ties to even.
[[nodiscard]] std::uint16_t f32_to_f16(float value) noexcept;
[[nodiscard]] inline float bf16_to_f32(std::uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}
/// Round to nearest, ties to even; NaN stays NaN.
[[nodiscard]] std::uint16_t f32_to_bf16(float value) noexcept;

/// Widens `count` elements of a feature type at `from` into `to` (may not overlap).
void widen_to_f32(DType type, const std::byte* from, std::size_t count, float* to) noexcept;

}  // namespace rudder
