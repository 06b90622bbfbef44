// SPDX-License-Identifier: Apache-2.0
// What models consist of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "rudder/learn/forest.h"
#include "rudder/learn/model.h"

namespace rudder::learn {

/// A matrix of weights: `outputs` rows of `inputs` + 1, the last being the constant.
struct Affine {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<double> weights;

  void apply(std::span<const double> in, std::span<double> out) const;
};

/// One score a class, or a single one, that of the second class, where there are two.
struct Linear {
  Affine scores;
};

/// Layers with the activation 1.7159 tanh(x / 3) behind each, the last one too (LeCun's scaled sigmoid, with
/// the slope of OpenCV's).
struct Network {
  std::vector<Affine> layers;

  void apply(std::span<const double> in, std::span<double> out) const;
};

/// The class that was the only one.
struct Constant {};

struct Model::Impl {
  std::string kind;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> present;  ///< classes that were learned, ascending; outputs are in this order
  std::vector<double> mean, scale;     ///< by column
  std::variant<Constant, Linear, Network, Forest> body;

  /// Raw scores of the present classes to probabilities, in place.
  void normalise(std::vector<double>& scores) const;
};

}  // namespace rudder::learn
