// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "train/adjacency.h"
#include "train/parallel.h"
#include "train/row_kernels.h"

namespace rudder::train {

/// One message-flow graph as a layer's forward and backward passes use it. The transposed form is built when
/// the backward pass first asks for it. Not thread-safe.
class LayerStructure {
 public:
  /// Views `mfg`, which must outlive the object.
  [[nodiscard]] static std::shared_ptr<LayerStructure> of_mean(const sample::Mfg& mfg, WorkerPool& pool);
  /// With self entries; `degrees` of the sources (see gcn_weights).
  [[nodiscard]] static std::shared_ptr<LayerStructure> of_gcn(const sample::Mfg& mfg,
                                                              std::span<const float> degrees,
                                                              WorkerPool& pool);
  /// With self entries; attention gives the weights.
  [[nodiscard]] static std::shared_ptr<LayerStructure> of_attention(const sample::Mfg& mfg, WorkerPool& pool);

  [[nodiscard]] const Adjacency& adjacency() const noexcept { return adjacency_; }
  [[nodiscard]] std::size_t destinations() const noexcept { return adjacency_.rows(); }
  [[nodiscard]] std::size_t sources() const noexcept { return sources_; }
  [[nodiscard]] WorkerPool& pool() const noexcept { return *pool_; }
  [[nodiscard]] const Transposed& transposed();

  /// out[d] = weighted sum (GCN) or mean of x's rows; rows of x.width floats.
  void aggregate(const RowsView& x, float* out) const;
  /// The gradient by x from that by the result: destinations x width → sources x width floats.
  void aggregate_backward(const RowsView& gradient, float* out);

 private:
  LayerStructure(const sample::Mfg& mfg, std::optional<sample::Mfg> own, WorkerPool& pool);

  std::optional<sample::Mfg> own_;
  Adjacency adjacency_;
  std::size_t sources_ = 0;
  WorkerPool* pool_ = nullptr;
  std::optional<std::vector<float>> weights_;
  std::optional<Transposed> transposed_;
};

}  // namespace rudder::train
