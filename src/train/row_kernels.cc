// SPDX-License-Identifier: Apache-2.0
#include "train/row_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "rudder/core/rng.h"

#include "train/blas_control.h"

// The bodies below are inlined into one wrapper for each vector unit, which compiles them for it.
#define RUDDER_INLINE [[gnu::always_inline]] inline

namespace rudder::train {
namespace {

template <std::size_t kLanes>
struct Vector {
  using Type __attribute__((vector_size(kLanes * sizeof(float)))) = float;

  RUDDER_INLINE static void load(const float* from, Type& to) { std::memcpy(&to, from, sizeof to); }
  RUDDER_INLINE static void store(const Type& from, float* to) { std::memcpy(to, &from, sizeof from); }
};

/// One tile of kLanes x kVectors columns; its sums stay in registers while all rows are added.
template <std::size_t kLanes, std::size_t kVectors, bool kWeighted>
RUDDER_INLINE void add_tile(const float* x, std::size_t stride, std::span<const LocalId> rows,
                            const float* weights, float scale, float* out) {
  using V = Vector<kLanes>;
  typename V::Type sums[kVectors] = {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* row = x + rows[i] * stride;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) {
      typename V::Type value;
      V::load(row + v * kLanes, value);
      sums[v] += kWeighted ? value * weights[i] : value;
    }
  }
#pragma GCC unroll 8
  for (std::size_t v = 0; v < kVectors; ++v) {
    V::store(kWeighted ? sums[v] : sums[v] * scale, out + v * kLanes);
  }
}

/// The columns that do not fill a vector.
template <bool kWeighted>
RUDDER_INLINE void add_rest(const float* x, std::size_t stride, std::size_t width,
                            std::span<const LocalId> rows, const float* weights, float scale, float* out) {
  std::fill_n(out, width, 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* row = x + rows[i] * stride;
    const float weight = kWeighted ? weights[i] : 1.0F;
    for (std::size_t j = 0; j < width; ++j) {
      out[j] += kWeighted ? row[j] * weight : row[j];
    }
  }
  if (!kWeighted) {
    for (std::size_t j = 0; j < width; ++j) {
      out[j] *= scale;
    }
  }
}

/// Tiles of kVectors from `column` on, then narrower ones; returns the first column that is left.
template <std::size_t kLanes, std::size_t kVectors, bool kWeighted>
RUDDER_INLINE std::size_t add_tiles(const RowsView& x, std::span<const LocalId> rows, const float* weights,
                                    float scale, float* out, std::size_t column) {
  constexpr std::size_t kTile = kLanes * kVectors;
  for (; column + kTile <= x.width; column += kTile) {
    add_tile<kLanes, kVectors, kWeighted>(x.data + column, x.stride, rows, weights, scale, out + column);
  }
  if constexpr (kVectors > 1) {
    column = add_tiles<kLanes, kVectors / 2, kWeighted>(x, rows, weights, scale, out, column);
  }
  return column;
}

template <std::size_t kLanes, bool kWeighted>
RUDDER_INLINE void add_rows(const RowsView& x, std::span<const LocalId> rows, const float* weights,
                            float scale, float* out) {
  const std::size_t column = add_tiles<kLanes, 8, kWeighted>(x, rows, weights, scale, out, 0);
  if (column < x.width) {
    add_rest<kWeighted>(x.data + column, x.stride, x.width - column, rows, weights, scale, out + column);
  }
}

RUDDER_INLINE float dot_body(const float* a, const float* b, std::size_t width) {
  constexpr std::size_t kParts = 16;
  float parts[kParts] = {};
  std::size_t j = 0;
  for (; j + kParts <= width; j += kParts) {
    for (std::size_t p = 0; p < kParts; ++p) {
      parts[p] += a[j + p] * b[j + p];
    }
  }
  for (; j < width; ++j) {
    parts[j % kParts] += a[j] * b[j];
  }
  float sum = 0;
  for (const float part : parts) {
    sum += part;
  }
  return sum;
}

RUDDER_INLINE void add_scaled_body(float a, const float* x, float* y, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    y[j] += a * x[j];
  }
}

RUDDER_INLINE void relu_dropout_body(std::uint64_t key, std::size_t first, std::uint32_t dropped, float scale,
                                     std::span<float> x) {
  constexpr std::size_t kWords = 64;
  const std::uint64_t state = mix64(key);
  for (std::size_t begin = 0; begin < x.size(); begin += kWords * 4) {
    std::array<std::uint64_t, kWords> words;
    const std::uint64_t word = (first + begin) / 4;
    for (std::size_t w = 0; w < kWords; ++w) {
      words[w] = mix64(state + (word + w + 1) * 0x9e3779b97f4a7c15ULL);
    }
    std::array<std::uint16_t, kWords * 4> lanes;
    static_assert(std::endian::native == std::endian::little, "lanes are the words' bits from low to high");
    std::memcpy(lanes.data(), words.data(), sizeof lanes);
    float* part = x.data() + begin;
    const std::size_t count = std::min(kWords * 4, x.size() - begin);
    for (std::size_t j = 0; j < count; ++j) {
      const float value = part[j] * scale;
      part[j] = lanes[j] < dropped || value <= 0 ? 0.0F : value;  // keeps NaN
    }
  }
}

RUDDER_INLINE void relu_dropout_backward_body(const float* y, const float* gradient, float scale,
                                              std::span<float> out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    const float value = gradient[j] * scale;
    out[j] = y[j] > 0 ? value : 0.0F;
  }
}

// RUDDER_VARIANT(name, lanes, attribute): the six functions of one vector unit and their table `name`.
#define RUDDER_VARIANT(unit, lanes, ...)                                                            \
  __VA_ARGS__ void sum_rows_##unit(const RowsView& x, std::span<const LocalId> rows, float scale,   \
                                   float* out) {                                                    \
    add_rows<lanes, false>(x, rows, nullptr, scale, out);                                           \
  }                                                                                                 \
  __VA_ARGS__ void weighted_sum_rows_##unit(const RowsView& x, std::span<const LocalId> rows,       \
                                            const float* weights, float* out) {                     \
    add_rows<lanes, true>(x, rows, weights, 1.0F, out);                                             \
  }                                                                                                 \
  __VA_ARGS__ float dot_##unit(const float* a, const float* b, std::size_t width) {                 \
    return dot_body(a, b, width);                                                                   \
  }                                                                                                 \
  __VA_ARGS__ void add_scaled_##unit(float a, const float* x, float* y, std::size_t count) {        \
    add_scaled_body(a, x, y, count);                                                                \
  }                                                                                                 \
  __VA_ARGS__ void relu_dropout_##unit(std::uint64_t key, std::size_t first, std::uint32_t dropped, \
                                       float scale, std::span<float> x) {                           \
    relu_dropout_body(key, first, dropped, scale, x);                                               \
  }                                                                                                 \
  __VA_ARGS__ void relu_dropout_backward_##unit(const float* y, const float* gradient, float scale, \
                                                std::span<float> out) {                             \
    relu_dropout_backward_body(y, gradient, scale, out);                                            \
  }                                                                                                 \
  constexpr RowKernels k_##unit = {#unit,                                                           \
                                   sum_rows_##unit,                                                 \
                                   weighted_sum_rows_##unit,                                        \
                                   dot_##unit,                                                      \
                                   add_scaled_##unit,                                               \
                                   relu_dropout_##unit,                                             \
                                   relu_dropout_backward_##unit};

RUDDER_VARIANT(base, 4)
#if defined(__x86_64__)
RUDDER_VARIANT(avx2, 8, [[gnu::target("avx2")]])
RUDDER_VARIANT(avx512, 16, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]])
#endif
#undef RUDDER_VARIANT

std::vector<RowKernels> find_supported() {
  std::vector<RowKernels> found = {k_base};
#if defined(__x86_64__)
  const VectorUnit unit = vector_unit();
  if (unit != VectorUnit::kNone) {
    found.push_back(k_avx2);
  }
  if (unit == VectorUnit::kAvx512) {
    found.push_back(k_avx512);
  }
#endif
  return found;
}

}  // namespace

std::span<const RowKernels> supported_row_kernels() {
  static const std::vector<RowKernels> found = find_supported();
  return found;
}

const RowKernels& row_kernels() {
  static const RowKernels& best = supported_row_kernels().back();
  return best;
}

}  // namespace rudder::train
