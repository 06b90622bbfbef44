// SPDX-License-Identifier: Apache-2.0
// Rows of f32 as f16 or bf16 and back: half the bytes on the wire and in a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"

namespace rudder {

/// What narrowing did to some values.
struct NarrowingError {
  float largest_absolute = 0;
  float largest_relative = 0;  ///< of values that are not 0
  double squares = 0;          ///< sum of the differences' squares
  std::uint64_t values = 0;

  NarrowingError& operator+=(const NarrowingError& other) noexcept;
  [[nodiscard]] double root_mean_square() const noexcept;
};

/// Rounds `count` values to nearest, ties to even, into `to` (f16 or bf16) at `out`, and adds to `error`.
/// False when some value is not finite afterwards; `error` means nothing then. Uses the widest vectors that
/// the machine has; results are the same with all.
[[nodiscard]] bool narrow_f32(DType to, const float* from, std::size_t count, std::byte* out,
                              NarrowingError& error) noexcept;

/// out row i = table row rows[i], narrowed; `columns` values a row. The first i whose row does not fit `to`,
/// or nothing. Indices as for gather_rows().
[[nodiscard]] std::optional<std::size_t> gather_narrowed(std::span<const float> table, std::size_t columns,
                                                         std::span<const NodeId> rows, DType to,
                                                         std::byte* out, NarrowingError& error) noexcept;

/// out row i = the row of `columns` values that starts at sources[i], which is of type `from` where narrow[i]
/// is not 0, else f32.
void gather_widened(std::span<const std::byte* const> sources, std::span<const std::uint8_t> narrow,
                    DType from, std::size_t columns, float* out) noexcept;

}  // namespace rudder
