// SPDX-License-Identifier: Apache-2.0
// The innermost loops over rows of floats, compiled for several vector units and picked at run time. Every
// variant adds in the same order and never contracts a product and a sum, so all give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "rudder/core/ids.h"

namespace rudder::train {

/// Rows of a matrix: row i has `width` floats from data + i x stride.
struct RowsView {
  const float* data = nullptr;
  std::size_t stride = 0;
  std::size_t width = 0;
};

struct RowKernels {
  std::string_view name;
  /// out[j] = scale x sum over i of x[rows[i]][j], added in the order of i; zeros when there are no rows.
  void (*sum_rows)(const RowsView& x, std::span<const LocalId> rows, float scale, float* out);
  /// out[j] = sum over i of weights[i] x x[rows[i]][j], added in the order of i.
  void (*weighted_sum_rows)(const RowsView& x, std::span<const LocalId> rows, const float* weights,
                            float* out);
  /// Sum of a[j] x b[j]: 16 interleaved partial sums, then these in order.
  float (*dot)(const float* a, const float* b, std::size_t width);
  /// y += a x.
  void (*add_scaled)(float a, const float* x, float* y, std::size_t count);
  /// x[j] = x[j] > 0 and element `first + j` is kept ? scale x[j] : 0. Element e is kept when 16-bit lane e %
  /// 4 of word e / 4 of the stream `key` (CounterRng) is at least `dropped` (of 65536). `first` is a multiple
  /// of 4.
  void (*relu_dropout)(std::uint64_t key, std::size_t first, std::uint32_t dropped, float scale,
                       std::span<float> x);
  /// out[j] = y[j] > 0 ? scale x gradient[j] : 0.
  void (*relu_dropout_backward)(const float* y, const float* gradient, float scale, std::span<float> out);
};

/// All variants this processor can run, the plainest first.
[[nodiscard]] std::span<const RowKernels> supported_row_kernels();
/// The last of them.
[[nodiscard]] const RowKernels& row_kernels();

}  // namespace rudder::train
