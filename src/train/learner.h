// SPDX-License-Identifier: Apache-2.0
// One rank's replica of a model with its optimizer. No LibTorch type appears here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/result.h"
#include "rudder/sample/sampler.h"

#include "train/learning_rate.h"
#include "train/precision.h"

namespace rudder::train {

struct LearnerOptions {
  std::string model = "sage";
  std::size_t features = 0;
  std::size_t hidden = 128;
  std::size_t classes = 0;
  bool multi_label = false;  ///< a node may have several classes
  std::size_t layers = 2;
  std::size_t heads = 4;
  LearningRate learning_rate = {};
  double weight_decay = 0;  ///< decoupled from the gradient (AdamW, Loshchilov and Hutter 2019)
  double clip_norm = 0;     ///< the gradient's largest L2 norm; 0: no limit
  double dropout = 0.5;
  Precision precision = Precision::kF32;  ///< of learning; inference is in f32
  std::uint64_t seed = 1;
  std::size_t threads = 1;
};

/// What update() has changed since the start.
struct LearnerState {
  std::uint64_t updates = 0;
  std::vector<float> parameters, mean, square;  ///< equally long; Adam's moments
};

/// A batch to learn from; what it views must live through the call.
struct Lesson {
  const sample::SampledBatch* batch = nullptr;
  const std::byte* rows = nullptr;  ///< of batch->nodes, `dtype`
  DType dtype = DType::kF32;
  std::span<const float> degrees = {};            ///< of batch->nodes, without self-loops; needed by gcn
  std::span<const std::int64_t> labels = {};      ///< of the seeds, each in [-1, classes); -1: none
  std::span<const std::uint8_t> label_rows = {};  ///< multi-label: instead, `classes` of 0 or 1 a seed
  double weight = 1;                              ///< of this batch's mean loss in the step's
};

/// Used by the thread that created it. Everything is a function of options and lessons: neither the number of
/// threads nor other learners in the process change a bit.
class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  [[nodiscard]] static Result<std::unique_ptr<Learner>> create(const LearnerOptions& options);

  /// Mean cross-entropy over the seeds with a label, or in multi-label graphs the mean over seeds and classes
  /// of the binary one of the outputs' sigmoids; adds `weight` times its derivative to gradient(). 0 when no
  /// seed has a label.
  [[nodiscard]] virtual Result<float> learn(const Lesson& lesson) = 0;
  /// One Adam step along gradient(), which the caller may have summed over ranks and which is clipped. The
  /// gradient is zero afterwards, as it is at the start.
  virtual void update() = 0;
  [[nodiscard]] virtual LearnerState state() const = 0;
  /// Goes on from a state of a learner with the same options; an error when its sizes differ.
  [[nodiscard]] virtual Status restore(const LearnerState& state) = 0;

  /// Layer k without dropout: rows of mfg.sources → rows of mfg.destinations.
  [[nodiscard]] virtual Status infer_layer(std::size_t k, const sample::Mfg& mfg,
                                           std::span<const float> degrees, std::span<const float> x,
                                           std::span<float> out) = 0;
  [[nodiscard]] virtual std::size_t layers() const = 0;
  [[nodiscard]] virtual std::size_t outputs(std::size_t layer) const = 0;
  [[nodiscard]] virtual bool needs_degrees() const = 0;
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  [[nodiscard]] virtual std::span<float> gradient() = 0;
  /// kPassengers floats behind the gradient, for figures to be summed with it; learn() does not touch them.
  static constexpr std::size_t kPassengers = 2;
  [[nodiscard]] virtual std::span<float> gradient_and_passengers() = 0;
  [[nodiscard]] std::span<float> passengers() { return gradient_and_passengers().last(kPassengers); }
};

}  // namespace rudder::train
