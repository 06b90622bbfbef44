// SPDX-License-Identifier: Apache-2.0
// The three models in dense double arithmetic, as their papers write them.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "train/adjacency.h"
#include "train/graph_cases.h"

namespace rudder::train::testing_support {

/// Takes consecutive matrices out of a flat parameter array.
class ParameterReader {
 public:
  explicit ParameterReader(std::span<const double> values) : values_(values) {}
  Dense next(std::size_t rows, std::size_t columns) {
    Dense result(rows, columns);
    std::copy_n(values_.begin(), rows * columns, result.values.begin());
    values_ = values_.subspan(rows * columns);
    return result;
  }
  [[nodiscard]] std::size_t left() const { return values_.size(); }

 private:
  std::span<const double> values_;
};

inline Dense first_rows(const Dense& x, std::size_t rows) {
  Dense result(rows, x.columns);
  std::copy_n(x.values.begin(), rows * x.columns, result.values.begin());
  return result;
}

inline Dense plus(Dense a, const Dense& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) {
      a.at(i, j) += b.at(b.rows == 1 ? 0 : i, j);  // one row: a bias
    }
  }
  return a;
}

inline Dense literal_sage(const sample::Mfg& mfg, const Dense& x, std::size_t outputs,
                          ParameterReader& parameters) {
  const Dense self = parameters.next(x.columns, outputs);
  const Dense neighbors = parameters.next(x.columns, outputs);
  const Dense bias = parameters.next(1, outputs);
  const Dense mean = product(mean_matrix(mfg), x);
  return plus(plus(product(first_rows(x, mfg.destinations), self), product(mean, neighbors)), bias);
}

inline Dense literal_gcn(const sample::Mfg& mfg, const std::vector<float>& degrees, const Dense& x,
                         std::size_t outputs, ParameterReader& parameters) {
  const Dense weight = parameters.next(x.columns, outputs);
  const Dense bias = parameters.next(1, outputs);
  Dense norm(mfg.destinations, mfg.sources);
  const auto root = [&](LocalId v) { return std::sqrt(static_cast<double>(degrees[v]) + 1); };
  for (LocalId d = 0; d < mfg.destinations; ++d) {
    const auto row = by_destination(mfg).row(d);
    const auto others = static_cast<double>(row.size()) - static_cast<double>(std::ranges::count(row, d));
    for (const LocalId s : row) {
      norm.at(d, s) = static_cast<double>(degrees[d]) / others / (root(s) * root(d));
    }
    norm.at(d, d) = 1 / (root(d) * root(d));
  }
  return plus(product(product(norm, x), weight), bias);
}

inline Dense literal_gat(const sample::Mfg& mfg, const Dense& x, std::size_t outputs, std::size_t heads,
                         ParameterReader& parameters) {
  const std::size_t width = outputs / heads;
  const Dense z = product(x, parameters.next(x.columns, outputs));
  const Dense source = parameters.next(heads, width);
  const Dense destination = parameters.next(heads, width);
  const Dense bias = parameters.next(1, outputs);
  const auto score = [&](std::size_t node, const Dense& vector, std::size_t h) {
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) {
      sum += z.at(node, h * width + j) * vector.at(h, j);
    }
    return sum;
  };
  Dense out(mfg.destinations, outputs);
  const sample::Mfg all = with_self_entries(mfg);
  for (LocalId d = 0; d < all.destinations; ++d) {
    for (std::size_t h = 0; h < heads; ++h) {
      double total = 0;
      for (const LocalId s : by_destination(all).row(d)) {
        const double pre = score(s, source, h) + score(d, destination, h);
        const double share = std::exp(pre > 0 ? pre : 0.2 * pre);
        total += share;
        for (std::size_t j = h * width; j < (h + 1) * width; ++j) {
          out.at(d, j) += share * z.at(s, j);
        }
      }
      for (std::size_t j = h * width; j < (h + 1) * width; ++j) {
        out.at(d, j) /= total;
      }
    }
  }
  return plus(out, bias);
}

struct LiteralModel {
  std::string kind;
  std::size_t features, hidden, classes, heads;

  /// Outputs of the last layer; ReLU between layers, no dropout. `degrees` of the input nodes.
  [[nodiscard]] Dense forward(const std::vector<sample::Mfg>& layers, const std::vector<float>& degrees,
                              Dense x, std::span<const double> parameters) const {
    ParameterReader reader(parameters);
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const bool last = k + 1 == layers.size();
      const std::size_t outputs = last ? classes : hidden;
      if (kind == "sage") {
        x = literal_sage(layers[k], x, outputs, reader);
      } else if (kind == "gcn") {
        x = literal_gcn(layers[k], degrees, x, outputs, reader);
      } else {
        x = literal_gat(layers[k], x, outputs, last ? 1 : heads, reader);
      }
      if (!last) {
        std::ranges::transform(x.values, x.values.begin(), [](double v) { return std::max(v, 0.0); });
      }
    }
    return x;
  }
};

/// Mean cross-entropy of softmax over rows.
inline double cross_entropy(const Dense& logits, std::span<const std::int64_t> labels) {
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double total = 0;
    for (std::size_t j = 0; j < logits.columns; ++j) {
      total += std::exp(logits.at(i, j));
    }
    sum += std::log(total) - logits.at(i, static_cast<std::size_t>(labels[i]));
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace rudder::train::testing_support
