// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on LibTorch tensors over the kernels. LibTorch types: include from few sources.
// All tensors are contiguous f32 on the CPU. Results do not depend on the number of threads of the pool.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "train/kernels.h"
#include "train/layer_structure.h"

namespace rudder::train {

using Structure = std::shared_ptr<LayerStructure>;

/// Mean or weighted sum of x's rows (sources x width) → destinations x width.
[[nodiscard]] at::Tensor aggregate(const at::Tensor& x, const Structure& structure);

/// x · weight (in x out), in fixed blocks of rows.
[[nodiscard]] at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, WorkerPool& pool);

/// ReLU and dropout. Overwrites x, which must not be used again.
[[nodiscard]] at::Tensor relu_dropout_(const at::Tensor& x, const Dropout& dropout, WorkerPool& pool);

/// GAT's attention over z (sources x heads·width): for each head, sum over entries of attention x z[s], with
/// scores z[s]·source_vector + z[d]·destination_vector (heads x width each) → destinations x heads·width.
[[nodiscard]] at::Tensor attend(const at::Tensor& z, const at::Tensor& source_vector,
                                const at::Tensor& destination_vector, const Structure& structure);

}  // namespace rudder::train
