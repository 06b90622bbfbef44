// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace rudder::train {

/// Debian's OpenBLAS 0.3.21 does not know newer processors and falls back to SSE3 kernels, about four times
/// slower. When OPENBLAS_CORETYPE is unset, the library in this process picked kernels without AVX2 and the
/// processor has AVX2 or AVX-512, sets the variable for programs started from here on (the library reads it
/// when it is loaded, before main) and returns true. Once a chain of programs.
[[nodiscard]] bool prefer_wide_kernels();

/// Called before anything is computed, printed or started: restarts the program image if that gets it wider
/// kernels. Returns only when nothing is to be done. `arguments`: this program's, after its name.
void select_blas_kernels(std::span<const std::string> arguments);

/// The kernels that OpenBLAS picked, for example "SkylakeX"; "reference" or the library's name without
/// OpenBLAS.
[[nodiscard]] std::string blas_kernels();

/// What OPENBLAS_CORETYPE could be set to for kernels that use this processor's vector units; empty when
/// those in use do, or are not OpenBLAS's.
[[nodiscard]] std::string wider_kernels();

}  // namespace rudder::train
