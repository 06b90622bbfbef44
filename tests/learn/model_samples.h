// SPDX-License-Identifier: Apache-2.0
// Rows whose class a known rule says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/learn/model.h"

namespace rudder::learn::testing_support {

struct Drawn {
  std::vector<float> rows;
  std::vector<std::uint32_t> labels;
  std::vector<double> weights;
  std::uint32_t classes = 2;

  [[nodiscard]] Samples samples() const {
    return {.rows = rows, .columns = 6, .labels = labels, .weights = weights, .classes = classes};
  }
  [[nodiscard]] std::span<const float> row(std::size_t i) const { return std::span(rows).subspan(i * 6, 6); }
};

/// Six columns of very different sizes; class c where a sum of two of them is in the c-th of `classes` parts.
inline Drawn draw(std::uint32_t classes, std::size_t count, std::uint64_t seed) {
  Drawn drawn;
  drawn.classes = classes;
  CounterRng rng({seed, 77});
  for (std::size_t i = 0; i < count; ++i) {
    double unit[6];
    for (double& value : unit) {
      value = rng.unit();
    }
    for (int column = 0; column < 6; ++column) {
      drawn.rows.push_back(
          static_cast<float>(unit[column] * (column == 1 ? 1e6 : 1) + (column == 2 ? 50 : 0)));
    }
    const double place = (unit[0] + unit[1]) / 2;
    drawn.labels.push_back(std::min(static_cast<std::uint32_t>(place * classes), classes - 1));
  }
  return drawn;
}

inline std::uint32_t chosen(const Model& model, std::span<const float> row) {
  std::vector<double> shares(model.classes());
  model.probabilities(row, shares);
  return static_cast<std::uint32_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

inline double accuracy(const Model& model, const Drawn& drawn) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    right += chosen(model, drawn.row(i)) == drawn.labels[i] ? 1U : 0U;
  }
  return static_cast<double>(right) / static_cast<double>(drawn.labels.size());
}

}  // namespace rudder::learn::testing_support
