// SPDX-License-Identifier: Apache-2.0
#include "train/model.h"

#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "rudder/core/rng.h"
#include "rudder/core/text.h"

#include "train/ops.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

constexpr std::uint64_t kInitialValues =
    0x696e6974;  // keeps this stream apart from others with the same seed

std::unique_ptr<Layer> make_layer(const ModelShape& shape, std::size_t k) {
  const bool first = k == 0;
  const bool last = k + 1 == shape.layers;
  const std::size_t inputs = first ? shape.features : shape.hidden;
  const std::size_t outputs = last ? shape.classes : shape.hidden;
  if (shape.kind == "sage") {
    return make_sage_layer(inputs, outputs, first);
  }
  if (shape.kind == "gcn") {
    return make_gcn_layer(inputs, outputs, first);
  }
  return make_gat_layer(inputs, outputs, last ? 1 : shape.heads);
}

Status check_shape(const ModelShape& shape) {
  constexpr std::string_view kKinds[] = {"sage", "gcn", "gat"};
  if (std::ranges::find(kKinds, shape.kind) == std::end(kKinds)) {
    const std::string near = nearest_name(shape.kind, kKinds);
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown model '{}'{}; there are sage, gcn and gat", shape.kind,
                             near.empty() ? "" : fmt::format(", did you mean '{}'?", near))};
  }
  if (shape.layers == 0 || shape.hidden == 0 || shape.features == 0 || shape.classes == 0) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("a model needs layers, features, hidden units and classes; got {}, {}, {} and {}",
                    shape.layers, shape.features, shape.hidden, shape.classes)};
  }
  if (shape.kind == "gat" && (shape.heads == 0 || shape.hidden % shape.heads != 0)) {
    return Error{Errc::kInvalidArgument, fmt::format("gat: {} hidden units cannot be divided among {} heads",
                                                     shape.hidden, shape.heads)};
  }
  return {};
}

void initialise(const ParameterShape& shape, CounterRng rng, const at::Tensor& values) {
  if (shape.gain == 0) {
    return;
  }
  const double bound = shape.gain * std::sqrt(6.0 / static_cast<double>(shape.fan_in + shape.fan_out));
  float* to = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    to[i] = static_cast<float>(bound * (2 * rng.unit() - 1));
  }
}

std::int64_t count_of(const ParameterShape& shape) {
  return std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

Result<std::unique_ptr<Model>> Model::create(const ModelShape& shape, std::uint64_t seed, std::size_t spare,
                                             WorkerPool& pool) {
  RUDDER_TRY(check_shape(shape));
  std::unique_ptr<Model> model(new Model(pool));
  std::int64_t total = 0;
  for (std::size_t k = 0; k < shape.layers; ++k) {
    model->layers_.push_back(make_layer(shape, k));
    for (const ParameterShape& parameter : model->layers_.back()->parameters()) {
      total += count_of(parameter);
    }
  }
  RUDDER_TRY(catch_torch(
      [] { return std::string("parameters"); },
      [&] {
        model->values_ = at::zeros({total}, at::kFloat);
        model->gradients_ = at::zeros({total + static_cast<std::int64_t>(spare)}, at::kFloat);
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < shape.layers; ++k) {
          auto& parameters = model->layer_parameters_.emplace_back();
          for (const ParameterShape& parameter : model->layers_[k]->parameters()) {
            const std::int64_t count = count_of(parameter);
            at::Tensor values = model->values_.narrow(0, offset, count).view(parameter.sizes).detach();
            initialise(parameter, CounterRng({seed, kInitialValues, k, parameters.size()}), values);
            values.requires_grad_(true);
            // Defined gradients are added to in place, so all stay in one array.
            values.mutable_grad() = model->gradients_.narrow(0, offset, count).view(parameter.sizes);
            parameters.push_back(std::move(values));
            offset += count;
          }
        }
      }));
  return model;
}

at::Tensor Model::forward_layer(std::size_t k, const sample::Mfg& mfg, std::span<const float> degrees,
                                const at::Tensor& x, const Dropout& dropout, Precision precision) const {
  at::Tensor out = layers_[k]->forward(mfg, degrees, x, layer_parameters_[k], pool_, precision);
  return k + 1 == layers_.size() ? out : relu_dropout_(out, dropout, pool_);
}

std::span<float> Model::parameters() const {
  return values_of(values_);
}
std::span<float> Model::gradient() const {
  return values_of(gradients_);
}

}  // namespace rudder::train
