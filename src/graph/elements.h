// SPDX-License-Identifier: Apache-2.0
// Little-endian array elements of any type, at any alignment, to the two types the program computes with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/result.h"

namespace rudder::graph {

/// Integer and bool types; a float type or a u64 above 2^63-1 is an error that names `where`.
[[nodiscard]] Result<std::vector<std::int64_t>> elements_to_int64(DType type,
                                                                  std::span<const std::byte> bytes,
                                                                  const std::string& where);

/// Any type; doubles and 64-bit integers are rounded.
[[nodiscard]] std::vector<float> elements_to_f32(DType type, std::span<const std::byte> bytes);

/// Class labels: integers as they are; floats must be whole numbers, NaN is -1 (no label).
[[nodiscard]] Result<std::vector<std::int64_t>> elements_to_labels(DType type,
                                                                   std::span<const std::byte> bytes,
                                                                   const std::string& where);

/// Labels of a multi-label graph: whole or float numbers, each 0 or 1.
[[nodiscard]] Result<std::vector<std::uint8_t>> elements_to_flags(DType type,
                                                                  std::span<const std::byte> bytes,
                                                                  const std::string& where);

/// A label written as a float; NaN is -1. Nothing when it is not a whole number below 2^31 in size.
[[nodiscard]] bool label_from_double(double value, std::int64_t& label) noexcept;

}  // namespace rudder::graph
