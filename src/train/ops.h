// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on LibTorch tensors over the kernels. LibTorch types: include from few sources.
// All tensors are contiguous f32 on the CPU. Results do not depend on the number of threads of the pool.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>

#include "train/kernels.h"
#include "train/layer_structure.h"
#include "train/precision.h"

namespace rudder::train {

/// All values of a contiguous f32 tensor.
[[nodiscard]] inline std::span<float> values_of(const at::Tensor& x) {
  return {x.data_ptr<float>(), static_cast<std::size_t>(x.numel())};
}

using Structure = std::shared_ptr<LayerStructure>;

/// Whether neighbours are added up before they are multiplied with their weights or after.
enum class Order : unsigned char { kAggregateFirst, kMultiplyFirst };

/// aggregate(x) · neighbor_weight + x[destinations] · self_weight + bias. self_weight may be undefined (no
/// such term). x: sources x in; weights: in x out; bias: out; the result: destinations x out.
[[nodiscard]] at::Tensor convolve(const at::Tensor& x, const c10::optional<at::Tensor>& self_weight,
                                  const at::Tensor& neighbor_weight, const at::Tensor& bias,
                                  const Structure& structure, Order order, Precision precision);

/// x · weight (in x out).
[[nodiscard]] at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, WorkerPool& pool,
                                Precision precision);

/// ReLU and dropout. Overwrites x, which must not be used again.
[[nodiscard]] at::Tensor relu_dropout_(const at::Tensor& x, const Dropout& dropout, WorkerPool& pool);

/// GAT's attention over z (sources x heads·width): for each head, sum over entries of attention x z[s], with
/// scores z[s]·source_vector + z[d]·destination_vector (heads x width each) → destinations x heads·width.
[[nodiscard]] at::Tensor attend(const at::Tensor& z, const at::Tensor& source_vector,
                                const at::Tensor& destination_vector, const Structure& structure);

}  // namespace rudder::train
