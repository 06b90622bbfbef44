// SPDX-License-Identifier: Apache-2.0
// The models on LibTorch tensors. LibTorch types: include from few sources.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "rudder/core/result.h"
#include "rudder/sample/sampler.h"

#include "train/kernels.h"
#include "train/precision.h"

namespace rudder::train {

struct ModelShape {
  std::string kind = "sage";  ///< sage, gcn, gat
  std::size_t features = 0;
  std::size_t hidden = 128;
  std::size_t classes = 0;
  std::size_t layers = 2;
  std::size_t heads = 4;  ///< gat, hidden layers; divides hidden
};

/// One parameter: Xavier-uniform with `gain` over the given fans, or zeros when gain is 0.
struct ParameterShape {
  std::vector<std::int64_t> sizes;
  std::size_t fan_in = 0, fan_out = 0;
  double gain = 0;
};

/// A layer without its activation. Its parameters are handed in, in the order of parameters().
class Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  [[nodiscard]] virtual std::vector<ParameterShape> parameters() const = 0;
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// x: mfg.sources rows; the result has mfg.destinations rows. `degrees`: of the sources in the whole graph,
  /// without self-loops; gcn only.
  [[nodiscard]] virtual at::Tensor forward(const sample::Mfg& mfg, std::span<const float> degrees,
                                           const at::Tensor& x, std::span<const at::Tensor> parameters,
                                           WorkerPool& pool, Precision precision) const = 0;
};

/// GraphSAGE with mean aggregation (Hamilton et al. 2017): x_d W_self + mean over neighbours of x_s W_neigh +
/// b.
[[nodiscard]] std::unique_ptr<Layer> make_sage_layer(std::size_t inputs, std::size_t outputs, bool first);
/// GCN (Kipf and Welling 2017): sum over neighbours and self of c(s, d) x_s W + b; c as in gcn_weights.
[[nodiscard]] std::unique_ptr<Layer> make_gcn_layer(std::size_t inputs, std::size_t outputs, bool first);
/// GAT (Veličković et al. 2018) over neighbours and self: heads side by side, LeakyReLU slope 0.2, plus b.
[[nodiscard]] std::unique_ptr<Layer> make_gat_layer(std::size_t inputs, std::size_t outputs,
                                                    std::size_t heads);

/// Whether a layer adds up neighbours before it multiplies with its weights: the cheaper order for usual
/// fan-outs, told from the widths alone, so it is the same for every batch. The first layer needs no gradient
/// by its inputs, and so no backward aggregation when it adds up first.
[[nodiscard]] bool aggregates_first(std::size_t inputs, std::size_t outputs, bool first) noexcept;

/// All layers with their parameters, which lie in one array, as do their gradients.
class Model {
 public:
  /// Initial values depend on the seed alone. The gradient array has `spare` more floats at its end.
  [[nodiscard]] static Result<std::unique_ptr<Model>> create(const ModelShape& shape, std::uint64_t seed,
                                                             std::size_t spare, WorkerPool& pool);

  [[nodiscard]] std::size_t layers() const noexcept { return layers_.size(); }
  [[nodiscard]] std::size_t outputs(std::size_t layer) const { return layers_[layer]->outputs(); }
  /// Layer k with its activation (ReLU and `dropout`; none after the last layer).
  [[nodiscard]] at::Tensor forward_layer(std::size_t k, const sample::Mfg& mfg,
                                         std::span<const float> degrees, const at::Tensor& x,
                                         const Dropout& dropout, Precision precision) const;
  [[nodiscard]] std::span<float> parameters() const;
  /// In the order of parameters(), with the spare floats.
  [[nodiscard]] std::span<float> gradient() const;

 private:
  explicit Model(WorkerPool& pool) : pool_(pool) {}

  WorkerPool& pool_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<std::vector<at::Tensor>> layer_parameters_;
  at::Tensor values_;
  at::Tensor gradients_;
};

}  // namespace rudder::train
