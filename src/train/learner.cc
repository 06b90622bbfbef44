// SPDX-License-Identifier: Apache-2.0
#include "train/learner.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "rudder/core/rng.h"

#include "train/blas_control.h"
#include "train/model.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

constexpr std::uint64_t kDropout = 0x64726f70;  // keeps this stream apart from others with the same seed

constexpr std::int64_t kIgnoredLabel = -1;

/// LibTorch's own threads would split sums by their number.
void use_one_torch_thread() {
  at::set_num_threads(1);
  at::GradMode::set_enabled(false);
}

at::Tensor rows_as_tensor(const Lesson& lesson, std::size_t features, std::vector<float>& widened) {
  const std::size_t count = lesson.batch->nodes.size() * features;
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(lesson.batch->nodes.size()),
                                           static_cast<std::int64_t>(features)};
  if (lesson.dtype != DType::kF32) {
    widened.resize(count);
    widen_to_f32(lesson.dtype, lesson.rows, count, widened.data());
    return at::from_blob(widened.data(), sizes, at::kFloat);
  }
  // from_blob wants a mutable pointer; nothing writes to the layer's inputs.
  return at::from_blob(const_cast<std::byte*>(lesson.rows), sizes, at::kFloat);
}

at::Tensor cross_entropy(const at::Tensor& outputs, std::span<const std::int64_t> labels) {
  const at::Tensor classes =
      at::from_blob(const_cast<std::int64_t*>(labels.data()), {outputs.size(0)}, at::kLong);
  return at::cross_entropy_loss(outputs, classes, {}, at::Reduction::Mean, kIgnoredLabel);
}

at::Tensor binary_cross_entropy(const at::Tensor& outputs, std::span<const std::uint8_t> label_rows) {
  const at::Tensor flags =
      at::from_blob(const_cast<std::uint8_t*>(label_rows.data()), outputs.sizes(), at::kByte);
  return at::binary_cross_entropy_with_logits(outputs, flags.to(at::kFloat), {}, {}, at::Reduction::Mean);
}

class TorchLearner final : public Learner {
 public:
  explicit TorchLearner(const LearnerOptions& options)
      : options_(options), pool_(options.threads, use_one_torch_thread) {}

  Status open() {
    use_one_blas_thread();
    at::set_num_threads(1);
    const ModelShape shape{options_.model,   options_.features, options_.hidden,
                           options_.classes, options_.layers,   options_.heads};
    RUDDER_ASSIGN(model_, Model::create(shape, options_.seed, kPassengers, pool_));
    mean_.assign(model_->parameters().size(), 0.0F);
    square_.assign(model_->parameters().size(), 0.0F);
    return {};
  }

  Result<float> learn(const Lesson& lesson) override {
    RUDDER_CHECK(lesson.batch->layers.size() == model_->layers(), "one message-flow graph a layer");
    float loss = 0;
    if (lesson.label_rows.empty() &&
        std::ranges::all_of(lesson.labels, [](std::int64_t label) { return label < 0; })) {
      return loss;
    }
    RUDDER_TRY(
        catch_torch([] { return std::string("training step"); }, [&] { loss = forward_backward(lesson); }));
    return loss;
  }

  void update() override {
    ++steps_;
    clip(gradient());
    const Adam adam{.learning_rate = rate_at(options_.learning_rate, steps_),
                    .weight_decay = options_.weight_decay};
    adam_step(adam, steps_, gradient(), mean_, square_, model_->parameters());
    std::ranges::fill(gradient(), 0.0F);
  }

  LearnerState state() const override {
    const std::span<const float> values = model_->parameters();
    return {steps_, {values.begin(), values.end()}, mean_, square_};
  }

  Status restore(const LearnerState& state) override {
    const std::size_t count = mean_.size();
    if (state.parameters.size() != count || state.mean.size() != count || state.square.size() != count) {
      return Error{Errc::kInvalidData,
                   fmt::format("a state of {} parameters for a model of {}", state.parameters.size(), count)};
    }
    std::ranges::copy(state.parameters, model_->parameters().begin());
    mean_ = state.mean;
    square_ = state.square;
    steps_ = state.updates;
    return {};
  }

  Status infer_layer(std::size_t k, const sample::Mfg& mfg, std::span<const float> degrees,
                     std::span<const float> x, std::span<float> out) override {
    return catch_torch(
        [] { return std::string("inference"); },
        [&] {
          const at::NoGradGuard guard;
          const auto width = static_cast<std::int64_t>(x.size() / mfg.sources);
          const at::Tensor input =
              at::from_blob(const_cast<float*>(x.data()), {mfg.sources, width}, at::kFloat);
          const at::Tensor result =
              model_->forward_layer(k, mfg, degrees, input, Dropout::none(), Precision::kF32).contiguous();
          RUDDER_CHECK(static_cast<std::size_t>(result.numel()) == out.size(),
                       "room for the layer's outputs");
          std::copy_n(result.data_ptr<float>(), out.size(), out.data());
        });
  }

  std::size_t layers() const override { return model_->layers(); }
  std::size_t outputs(std::size_t layer) const override { return model_->outputs(layer); }
  bool needs_degrees() const override { return options_.model == "gcn"; }
  std::span<float> parameters() override { return model_->parameters(); }
  std::span<float> gradient() override { return model_->gradient().first(model_->parameters().size()); }
  std::span<float> gradient_and_passengers() override { return model_->gradient(); }

 private:
  void clip(std::span<float> gradient) const {
    if (options_.clip_norm <= 0) {
      return;
    }
    double square = 0;
    for (const float g : gradient) {
      square += static_cast<double>(g) * static_cast<double>(g);
    }
    const double norm = std::sqrt(square);
    if (norm > options_.clip_norm) {
      const auto factor = static_cast<float>(options_.clip_norm / norm);
      for (float& g : gradient) {
        g *= factor;
      }
    }
  }

  float forward_backward(const Lesson& lesson) {
    const at::AutoGradMode with_gradients(true);
    const sample::BatchKey& key = lesson.batch->key;
    at::Tensor x = rows_as_tensor(lesson, options_.features, widened_);
    for (std::size_t k = 0; k < model_->layers(); ++k) {
      const sample::Mfg& mfg = lesson.batch->layers[k];
      const auto degrees = lesson.degrees.empty() ? lesson.degrees : lesson.degrees.first(mfg.sources);
      const Dropout dropout = Dropout::of(
          options_.dropout, stream_key({options_.seed, kDropout, key.epoch, key.batch, key.rank, k}));
      x = model_->forward_layer(k, mfg, degrees, x, dropout, options_.precision);
    }
    const at::Tensor loss =
        options_.multi_label ? binary_cross_entropy(x, lesson.label_rows) : cross_entropy(x, lesson.labels);
    loss.backward(at::full({}, lesson.weight, at::kFloat));
    return loss.item<float>();
  }

  LearnerOptions options_;
  WorkerPool pool_;
  std::unique_ptr<Model> model_;
  std::vector<float> mean_, square_, widened_;
  std::uint64_t steps_ = 0;
};

}  // namespace

Result<std::unique_ptr<Learner>> Learner::create(const LearnerOptions& options) {
  if (options.threads == 0 || !(options.dropout >= 0 && options.dropout < 1) ||
      !(options.learning_rate.peak > 0)) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("threads must be at least 1, dropout in [0, 1) and learning rate positive; got {}, {} "
                    "and {}",
                    options.threads, options.dropout, options.learning_rate.peak)};
  }
  auto learner = std::make_unique<TorchLearner>(options);
  RUDDER_TRY(learner->open());
  return std::unique_ptr<Learner>(std::move(learner));
}

}  // namespace rudder::train
