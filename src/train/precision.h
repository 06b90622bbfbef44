// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rudder::train {

/// Of products of matrices in forward and backward passes. kBf16: factors are rounded to bf16, and the
/// product, which LibTorch adds up in f32, is rounded to bf16 and widened again. Everything else is f32.
enum class Precision : unsigned char { kF32, kBf16 };

}  // namespace rudder::train
