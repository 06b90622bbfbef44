// SPDX-License-Identifier: Apache-2.0
#include "rudder/learn/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "rudder/core/check.h"

#include "learn/model_parts.h"

namespace rudder::learn {
namespace {

constexpr std::array<ModelKind, 5> kKinds = {{{"lr", "logistic regression, one against the rest"},
                                              {"svm", "linear support vector machine, one against the rest"},
                                              {"mlp", "neural network of two hidden layers"},
                                              {"rf", "random forest"},
                                              {"xgb", "gradient-boosted trees"}}};

}  // namespace

void Affine::apply(std::span<const double> in, std::span<double> out) const {
  const double* weight = weights.data();
  for (std::size_t o = 0; o < outputs; ++o) {
    out[o] = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      out[o] += *weight++ * in[i];
    }
    out[o] += *weight++;
  }
}

void Network::apply(std::span<const double> in, std::span<double> out) const {
  std::vector<double> before(in.begin(), in.end());
  for (const Affine& layer : layers) {
    std::vector<double> after(layer.outputs);
    layer.apply(before, after);
    for (double& value : after) {
      value = 1.7159 * std::tanh(value / 3);
    }
    before = std::move(after);
  }
  std::copy(before.begin(), before.end(), out.begin());
}

void Model::Impl::normalise(std::vector<double>& scores) const {
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  if (kind == "xgb") {
    const double top = *std::max_element(scores.begin(), scores.end());
    std::for_each(scores.begin(), scores.end(), [&](double& score) { score = std::exp(score - top); });
  } else if (kind == "mlp") {
    std::for_each(scores.begin(), scores.end(), [](double& score) { score = std::max(score + 1, 1e-9); });
  } else if (kind == "lr" || kind == "svm") {
    if (scores.size() == 2) {
      scores[1] = logistic(scores[0]);
      scores[0] = 1 - scores[1];
    } else {
      std::for_each(scores.begin(), scores.end(),
                    [&](double& score) { score = std::max(logistic(score), 1e-9); });
    }
  }
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  // A forest from outside may add up to anything.
  const bool usable = sum > 0 && *std::min_element(scores.begin(), scores.end()) >= 0;
  for (double& score : scores) {
    score = usable ? score / sum : 1 / static_cast<double>(scores.size());
  }
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const ModelKind> model_kinds() {
  return kKinds;
}

std::string_view Model::kind() const noexcept {
  return impl_->kind;
}
std::uint32_t Model::classes() const noexcept {
  return impl_->classes;
}
std::size_t Model::columns() const noexcept {
  return impl_->mean.size();
}

void Model::probabilities(std::span<const float> row, std::span<double> out) const {
  RUDDER_CHECK(row.size() == columns() && out.size() == classes(), "row or result of another size");
  std::fill(out.begin(), out.end(), 0.0);
  std::vector<double> scores(impl_->present.size());
  std::vector<double> in(row.size());
  for (std::size_t column = 0; column < row.size(); ++column) {
    in[column] = (static_cast<double>(row[column]) - impl_->mean[column]) / impl_->scale[column];
  }
  if (std::holds_alternative<Constant>(impl_->body)) {
    scores[0] = 1;
  } else if (const auto* linear = std::get_if<Linear>(&impl_->body)) {
    linear->scores.apply(in, scores);
  } else if (const auto* network = std::get_if<Network>(&impl_->body)) {
    network->apply(in, scores);
  } else {
    std::vector<float> narrow(in.size());
    std::transform(in.begin(), in.end(), narrow.begin(), [](double value) {
      constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());
      return static_cast<float>(std::clamp(value, -kMost, kMost));
    });
    std::get<Forest>(impl_->body).add(narrow, scores);
  }
  if (!std::holds_alternative<Constant>(impl_->body)) {
    impl_->normalise(scores);
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    out[impl_->present[i]] = scores[i];
  }
}

}  // namespace rudder::learn
