// SPDX-License-Identifier: Apache-2.0
// What select_blas_kernels decides, apart from doing it; and the number of BLAS threads.
#pragma once

#include <string_view>

namespace rudder::train {

enum class VectorUnit : unsigned char { kNone, kAvx2, kAvx512 };

/// The widest unit that processor and kernel support and that OpenBLAS has kernels for.
[[nodiscard]] VectorUnit vector_unit() noexcept;

/// The value for OPENBLAS_CORETYPE with which a library that picked `picked` should be started again; empty
/// when `picked` already uses AVX2 or better, or is no OpenBLAS name.
[[nodiscard]] std::string_view better_kernels(VectorUnit unit, std::string_view picked) noexcept;

/// One thread in each BLAS call from now on: sums inside a call then have one order. Process-wide.
void use_one_blas_thread() noexcept;

}  // namespace rudder::train
