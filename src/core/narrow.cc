// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/narrow.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "rudder/core/check.h"

// The bodies below are inlined into one wrapper for each vector unit, which compiles them for it.
#define RUDDER_INLINE [[gnu::always_inline]] inline

namespace rudder {
namespace {

constexpr std::size_t kLanes = 16;     ///< values that are worked on together
constexpr std::size_t kRowsAhead = 4;  ///< rows between prefetch and use
constexpr std::size_t kLineFloats = 16;

/// Without branches, so that a loop over lanes becomes vector code. The scalar functions of core/dtype.h are
/// the reference.
struct F16 {
  static constexpr std::uint32_t kInfinity = 0x7C00;

  RUDDER_INLINE static std::uint32_t narrow(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    const std::uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + odd) >> 13;
    // Below the smallest normal half the float adder rounds to 2^-24. Larger values add up to anything.
    const std::uint32_t small = std::min(magnitude, 0x38800000U);
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + 0.5F) - 0x3F000000U;
    const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
    const std::uint32_t rounded = magnitude >= 0x477FF000U ? kInfinity : finite;
    return ((bits >> 16) & 0x8000U) | (magnitude > 0x7F800000U ? 0x7E00U : rounded);
  }
  RUDDER_INLINE static std::uint32_t widen(std::uint32_t half) {
    const std::uint32_t shifted = (half & 0x7FFFU) << 13;
    const std::uint32_t exponent = shifted & 0x0F800000U;
    const std::uint32_t normal = shifted + (exponent == 0x0F800000U ? 0x70000000U : 0x38000000U);
    // 2^-14 and the mantissa of a subnormal, minus that 2^-14.
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
        std::bit_cast<float>((shifted & 0x007FFFFFU) + 0x38800000U) - std::bit_cast<float>(0x38800000U));
    return ((half & 0x8000U) << 16) | (exponent == 0 ? subnormal : normal);
  }
};

struct BF16 {
  static constexpr std::uint32_t kInfinity = 0x7F80;

  RUDDER_INLINE static std::uint32_t narrow(std::uint32_t bits) {
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    return (bits & 0x7FFFFFFFU) > 0x7F800000U ? (bits >> 16) | 0x40U : rounded;
  }
  RUDDER_INLINE static std::uint32_t widen(std::uint32_t half) { return half << 16; }
};

/// Sums of each lane on its own: their order is the same in every vector unit.
struct Lanes {
  std::array<float, kLanes> absolute{};
  std::array<float, kLanes> relative{};
  std::array<double, kLanes> squares{};
  std::array<std::uint32_t, kLanes> unfit{};
};

template <class Half>
RUDDER_INLINE void narrow_lanes(const float* from, std::uint16_t* out, Lanes& lanes) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    const std::uint32_t half = Half::narrow(std::bit_cast<std::uint32_t>(from[l]));
    out[l] = static_cast<std::uint16_t>(half);
    const float back = std::bit_cast<float>(Half::widen(half & 0xFFFFU));
    const float difference = std::abs(from[l] - back);
    const float size = std::abs(from[l]);
    const float relative = difference / (size > 0 ? size : 1.0F);
    lanes.absolute[l] = difference > lanes.absolute[l] ? difference : lanes.absolute[l];
    lanes.relative[l] = relative > lanes.relative[l] ? relative : lanes.relative[l];
    lanes.squares[l] += static_cast<double>(difference) * static_cast<double>(difference);
    lanes.unfit[l] |= (half & 0x7FFFU) >= Half::kInfinity ? 1U : 0U;
  }
}

template <class Half>
RUDDER_INLINE bool narrow_body(const float* from, std::size_t count, std::byte* out, NarrowingError& error) {
  Lanes lanes;
  std::array<std::uint16_t, kLanes> halves;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    narrow_lanes<Half>(from + i, halves.data(), lanes);
    std::memcpy(out + 2 * i, halves.data(), sizeof halves);
  }
  if (i < count) {  // zeros for the rest change nothing
    std::array<float, kLanes> rest{};
    std::memcpy(rest.data(), from + i, (count - i) * sizeof(float));
    narrow_lanes<Half>(rest.data(), halves.data(), lanes);
    std::memcpy(out + 2 * i, halves.data(), 2 * (count - i));
  }
  std::uint32_t unfit = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    error.largest_absolute = std::max(error.largest_absolute, lanes.absolute[l]);
    error.largest_relative = std::max(error.largest_relative, lanes.relative[l]);
    error.squares += lanes.squares[l];
    unfit |= lanes.unfit[l];
  }
  error.values += count;
  return unfit == 0;
}

template <class Half>
RUDDER_INLINE void widen_body(const std::byte* from, std::size_t count, float* to) {
  std::array<std::uint16_t, kLanes> halves;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    std::memcpy(halves.data(), from + 2 * i, sizeof halves);
    for (std::size_t l = 0; l < kLanes; ++l) {
      to[i + l] = std::bit_cast<float>(Half::widen(halves[l]));
    }
  }
  for (; i < count; ++i) {
    std::memcpy(halves.data(), from + 2 * i, 2);
    to[i] = std::bit_cast<float>(Half::widen(halves[0]));
  }
}

struct Kernels {
  bool (*narrow_f16)(const float*, std::size_t, std::byte*, NarrowingError&);
  bool (*narrow_bf16)(const float*, std::size_t, std::byte*, NarrowingError&);
  void (*widen_f16)(const std::byte*, std::size_t, float*);
  void (*widen_bf16)(const std::byte*, std::size_t, float*);
};

#define RUDDER_VARIANT(unit, ...)                                                           \
  __VA_ARGS__ bool narrow_f16_##unit(const float* from, std::size_t count, std::byte* out,  \
                                     NarrowingError& e) {                                   \
    return narrow_body<F16>(from, count, out, e);                                           \
  }                                                                                         \
  __VA_ARGS__ bool narrow_bf16_##unit(const float* from, std::size_t count, std::byte* out, \
                                      NarrowingError& e) {                                  \
    return narrow_body<BF16>(from, count, out, e);                                          \
  }                                                                                         \
  __VA_ARGS__ void widen_f16_##unit(const std::byte* from, std::size_t count, float* to) {  \
    widen_body<F16>(from, count, to);                                                       \
  }                                                                                         \
  __VA_ARGS__ void widen_bf16_##unit(const std::byte* from, std::size_t count, float* to) { \
    widen_body<BF16>(from, count, to);                                                      \
  }                                                                                         \
  constexpr Kernels k_##unit = {narrow_f16_##unit, narrow_bf16_##unit, widen_f16_##unit, widen_bf16_##unit};

RUDDER_VARIANT(base)
#if defined(__x86_64__)
RUDDER_VARIANT(avx2, [[gnu::target("avx2")]])
RUDDER_VARIANT(avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]])
#endif
#undef RUDDER_VARIANT

Kernels best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    return k_avx512;
  }
  if (__builtin_cpu_supports("avx2") != 0) {
    return k_avx2;
  }
#endif
  return k_base;
}

const Kernels& kernels() {
  static const Kernels best = best_kernels();
  return best;
}

bool narrow_with(const Kernels& with, DType to, const float* from, std::size_t count, std::byte* out,
                 NarrowingError& error) {
  return (to == DType::kF16 ? with.narrow_f16 : with.narrow_bf16)(from, count, out, error);
}

}  // namespace

NarrowingError& NarrowingError::operator+=(const NarrowingError& other) noexcept {
  largest_absolute = std::max(largest_absolute, other.largest_absolute);
  largest_relative = std::max(largest_relative, other.largest_relative);
  squares += other.squares;
  values += other.values;
  return *this;
}

double NarrowingError::root_mean_square() const noexcept {
  return values == 0 ? 0 : std::sqrt(squares / static_cast<double>(values));
}

bool narrow_f32(DType to, const float* from, std::size_t count, std::byte* out,
                NarrowingError& error) noexcept {
  RUDDER_CHECK(to == DType::kF16 || to == DType::kBF16, "f32 narrows to f16 and bf16");
  return narrow_with(kernels(), to, from, count, out, error);
}

void widen_to_f32(DType type, const std::byte* from, std::size_t count, float* to) noexcept {
  RUDDER_CHECK(is_feature_type(type), "only f32, f16 and bf16 widen");
  if (type == DType::kF32) {
    std::memcpy(to, from, count * sizeof(float));
  } else {
    (type == DType::kF16 ? kernels().widen_f16 : kernels().widen_bf16)(from, count, to);
  }
}

std::optional<std::size_t> gather_narrowed(std::span<const float> table, std::size_t columns,
                                           std::span<const NodeId> rows, DType to, std::byte* out,
                                           NarrowingError& error) noexcept {
  RUDDER_CHECK(to == DType::kF16 || to == DType::kBF16, "f32 narrows to f16 and bf16");
  const auto row_of = [&](std::size_t i) {
    return table.data() + static_cast<std::size_t>(rows[i]) * columns;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) {
      const float* ahead = row_of(i + kRowsAhead);
      for (std::size_t c = 0; c < columns; c += kLineFloats) {
        __builtin_prefetch(ahead + c);
      }
    }
    if (!narrow_with(kernels(), to, row_of(i), columns, out + i * columns * 2, error)) {
      return i;
    }
  }
  return std::nullopt;
}

void gather_widened(std::span<const std::byte* const> sources, std::span<const std::uint8_t> narrow,
                    DType from, std::size_t columns, float* out) noexcept {
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i + kRowsAhead < sources.size()) {
      const std::size_t bytes = columns * (narrow[i + kRowsAhead] != 0 ? 2 : sizeof(float));
      for (std::size_t b = 0; b < bytes; b += kLineBytes) {
        __builtin_prefetch(sources[i + kRowsAhead] + b);
      }
    }
    widen_to_f32(narrow[i] != 0 ? from : DType::kF32, sources[i], columns, out + i * columns);
  }
}

}  // namespace rudder
