// SPDX-License-Identifier: Apache-2.0
#include "train/layer_structure.h"

#include "train/kernels.h"

namespace rudder::train {

LayerStructure::LayerStructure(const sample::Mfg& mfg, std::optional<sample::Mfg> own, WorkerPool& pool)
    : own_(std::move(own)),
      adjacency_(by_destination(own_ ? *own_ : mfg)),
      sources_(mfg.sources),
      pool_(&pool) {}

std::shared_ptr<LayerStructure> LayerStructure::of_mean(const sample::Mfg& mfg, WorkerPool& pool) {
  return std::shared_ptr<LayerStructure>(new LayerStructure(mfg, std::nullopt, pool));
}

std::shared_ptr<LayerStructure> LayerStructure::of_gcn(const sample::Mfg& mfg, std::span<const float> degrees,
                                                       WorkerPool& pool) {
  auto structure = of_attention(mfg, pool);
  structure->weights_ = gcn_weights(structure->adjacency_, degrees);
  return structure;
}

std::shared_ptr<LayerStructure> LayerStructure::of_attention(const sample::Mfg& mfg, WorkerPool& pool) {
  return std::shared_ptr<LayerStructure>(new LayerStructure(mfg, with_self_entries(mfg), pool));
}

const Transposed& LayerStructure::transposed() {
  if (!transposed_) {
    transposed_ = transpose(adjacency_, sources_);
  }
  return *transposed_;
}

void LayerStructure::aggregate(const RowsView& x, float* out) const {
  if (weights_) {
    aggregate_weighted(*pool_, adjacency_, *weights_, x, out, x.width);
  } else {
    aggregate_mean(*pool_, adjacency_, x, out);
  }
}

void LayerStructure::aggregate_backward(const RowsView& gradient, float* out) {
  const Transposed& back = transposed();
  const std::vector<float> weights =
      weights_ ? permuted(*weights_, back.entries) : mean_weights(adjacency_, back);
  aggregate_weighted(*pool_, back.view(), weights, gradient, out, gradient.width);
}

}  // namespace rudder::train
