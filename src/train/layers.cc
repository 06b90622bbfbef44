// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/ATen.h>

#include "train/model.h"
#include "train/ops.h"

namespace rudder::train {
namespace {

const double kReluGain = std::sqrt(2.0);

std::int64_t size(std::size_t count) {
  return static_cast<std::int64_t>(count);
}
ParameterShape matrix(std::size_t inputs, std::size_t outputs, double gain) {
  return {{size(inputs), size(outputs)}, inputs, outputs, gain};
}
ParameterShape bias(std::size_t outputs) {
  return {{size(outputs)}, 0, 0, 0};
}

class SageLayer final : public Layer {
 public:
  SageLayer(std::size_t inputs, std::size_t outputs, bool first)
      : inputs_(inputs),
        outputs_(outputs),
        order_(aggregates_first(inputs, outputs, first) ? Order::kAggregateFirst : Order::kMultiplyFirst) {}

  std::vector<ParameterShape> parameters() const override {
    return {matrix(inputs_, outputs_, kReluGain), matrix(inputs_, outputs_, kReluGain), bias(outputs_)};
  }
  std::size_t outputs() const override { return outputs_; }

  at::Tensor forward(const sample::Mfg& mfg, std::span<const float> /*degrees*/, const at::Tensor& x,
                     std::span<const at::Tensor> parameters, WorkerPool& pool,
                     Precision precision) const override {
    return convolve(x, parameters[0], parameters[1], parameters[2], LayerStructure::of_mean(mfg, pool),
                    order_, precision);
  }

 private:
  std::size_t inputs_, outputs_;
  Order order_;
};

class GcnLayer final : public Layer {
 public:
  GcnLayer(std::size_t inputs, std::size_t outputs, bool first)
      : inputs_(inputs),
        outputs_(outputs),
        order_(aggregates_first(inputs, outputs, first) ? Order::kAggregateFirst : Order::kMultiplyFirst) {}

  std::vector<ParameterShape> parameters() const override {
    return {matrix(inputs_, outputs_, 1), bias(outputs_)};
  }
  std::size_t outputs() const override { return outputs_; }

  at::Tensor forward(const sample::Mfg& mfg, std::span<const float> degrees, const at::Tensor& x,
                     std::span<const at::Tensor> parameters, WorkerPool& pool,
                     Precision precision) const override {
    return convolve(x, c10::nullopt, parameters[0], parameters[1], LayerStructure::of_gcn(mfg, degrees, pool),
                    order_, precision);
  }

 private:
  std::size_t inputs_, outputs_;
  Order order_;
};

class GatLayer final : public Layer {
 public:
  GatLayer(std::size_t inputs, std::size_t outputs, std::size_t heads)
      : inputs_(inputs), outputs_(outputs), heads_(heads) {}

  std::vector<ParameterShape> parameters() const override {
    const std::size_t width = outputs_ / heads_;
    // Fans as PyTorch counts them for a tensor of 1 x heads x width.
    const ParameterShape score{{size(heads_), size(width)}, outputs_, width, kReluGain};
    return {matrix(inputs_, outputs_, kReluGain), score, score, bias(outputs_)};
  }
  std::size_t outputs() const override { return outputs_; }

  at::Tensor forward(const sample::Mfg& mfg, std::span<const float> /*degrees*/, const at::Tensor& x,
                     std::span<const at::Tensor> parameters, WorkerPool& pool,
                     Precision precision) const override {
    const Structure structure = LayerStructure::of_attention(mfg, pool);
    return attend(linear(x, parameters[0], pool, precision), parameters[1], parameters[2], structure) +
           parameters[3];
  }

 private:
  std::size_t inputs_, outputs_, heads_;
};

}  // namespace

// From the floating-point operations of GEMM over sources against destinations (about four times fewer), at
// some 200 a nanosecond, and about 16 bytes a nanosecond for gathered rows, a dozen a destination.
bool aggregates_first(std::size_t inputs, std::size_t outputs, bool first) noexcept {
  return outputs >= 48 || inputs <= outputs * (first ? 4 : 2);
}

std::unique_ptr<Layer> make_sage_layer(std::size_t inputs, std::size_t outputs, bool first) {
  return std::make_unique<SageLayer>(inputs, outputs, first);
}
std::unique_ptr<Layer> make_gcn_layer(std::size_t inputs, std::size_t outputs, bool first) {
  return std::make_unique<GcnLayer>(inputs, outputs, first);
}
std::unique_ptr<Layer> make_gat_layer(std::size_t inputs, std::size_t outputs, std::size_t heads) {
  return std::make_unique<GatLayer>(inputs, outputs, heads);
}

}  // namespace rudder::train
